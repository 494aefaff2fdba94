#![expect(clippy::unwrap_used, reason = "tests")]

use clap::CommandFactory;

use super::*;

fn serve(flags: &[&str]) -> ServeArgs {
    let line = ["agnhost-rs", "serve"].iter().chain(flags);
    match CommandLine::try_parse_from(line).unwrap().chosen() {
        Command::Serve(args) => args,
        other => panic!("{other:?}"),
    }
}

fn refusal(flags: &[&str], environment: Option<&str>) -> String {
    serve(flags).order(environment.map(str::to_owned)).unwrap_err().to_string()
}

#[test]
fn the_command_line_is_consistent() {
    CommandLine::command().debug_assert();
}

#[test]
fn without_a_command_it_pauses() {
    let command = CommandLine::try_parse_from(["pause"]).unwrap().chosen();
    assert!(matches!(command, Command::Dropin(Dropin::Pause)), "{command:?}");
}

#[test]
fn an_order_holds_what_the_flags_say() {
    let flags =
        ["--plan-inline", "seed: 7", "--journal", "/j", "--recorder", "rec:7070", "--control", "127.0.0.1:0"];
    let more = ["--token", "sesame", "--stop-signal", "SIGUSR1", "--stop-signal", "quit", "--quiet"];
    let order = serve(&[&flags[..], &more].concat()).order(Some("seed: 8".to_owned())).unwrap();
    assert_eq!((order.plan.seed, order.quiet, order.stop_signals.len()), (7, true, 2));
    let (recorder, _) = order.recorder.unwrap();
    assert_eq!((order.journal, recorder.as_str()), (Some("/j".into()), "rec:7070"));
    let (address, token) = order.control.unwrap();
    assert!(address.bind().unwrap().local_addr().unwrap().ip().is_loopback());
    assert!(!format!("{token:?}").contains("sesame"));
}

#[test]
fn a_control_port_and_a_recorder_need_a_token() {
    for (flags, of) in [
        (&["--control", "9000"][..], "the control port"),
        (&["--control", "9000", "--token", ""], "the control port"),
        (&["--recorder", "rec:7070"], "the recorder"),
    ] {
        assert!(refusal(flags, Some("{}")).starts_with(&format!("{of} needs a token")), "{flags:?}");
    }
    assert!(serve(&["--token", "unused"]).order(Some("{}".to_owned())).unwrap().control.is_none());
}

#[test]
fn a_plan_is_given_once_and_must_be_one() {
    assert!(refusal(&["--plan", "a", "--plan-inline", "{}"], None).contains("exclude each other"));
    assert!(refusal(&[], None).contains("there is no plan"));
    assert!(
        refusal(&["--plan-inline", "sed: 1"], Some("{}")).starts_with("--plan-inline, line 1, column 1: ")
    );
    assert!(refusal(&[], Some("sed: 1")).starts_with("AGNHOST_PLAN, line 1, column 1: "));
}

#[test]
fn addresses_are_read_with_and_without_a_host() {
    for text in ["9000", "127.0.0.1:9000", "[::1]:9000"] {
        assert_eq!(text.parse::<ControlAddress>().unwrap().to_string(), text);
    }
    for text in ["", "x", "host:9000", "70000", "127.0.0.1"] {
        assert!(text.parse::<ControlAddress>().is_err(), "{text}");
    }
    let all = ControlAddress { address: None, port: 0 }.bind().unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", all.local_addr().unwrap().port())).is_ok());
    assert!(recorder_address("7070").is_err() && recorder_address("rec:7070").is_ok());
}

#[test]
fn help_names_the_exit_statuses_and_hides_the_token() {
    let help = CommandLine::command().render_long_help().to_string();
    for status in ["    0 ", "    1 ", "    2 ", "   78 ", "  125 ", "  126 "] {
        assert!(help.contains(status), "{help}");
    }
    let mut command = CommandLine::command();
    let serve = command.find_subcommand_mut("serve").unwrap().render_long_help().to_string();
    assert!(serve.contains("AGNHOST_TOKEN") && !serve.contains("AGNHOST_TOKEN="), "{serve}");
}
