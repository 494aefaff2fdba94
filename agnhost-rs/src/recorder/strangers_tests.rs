//! Clients without the token: what they cost, and that nothing that they send is recorded.

use super::*;

#[test]
fn nothing_is_entered_without_the_token() {
    let recorder = Running::usual();
    for (greeting, why) in [
        ("nonsense", "set AGNHOST_TOKEN"),
        (r#"{"v":1,"boot":"b","attempt":0,"hello":0,"identity":{}}"#, "set AGNHOST_TOKEN"),
        (r#"{"v":1,"boot":"b","attempt":0,"hello":0,"identity":{},"token":"s3cre"}"#, "the token is wrong"),
    ] {
        let (mut stream, answer) = recorder.greet(greeting);
        assert!(answer.contains(why), "{greeting}: {answer}");
        assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0, "{greeting}");
    }
    let mut endless = TcpStream::connect(recorder.ingest).unwrap();
    let _ = endless.write_all(&[b'a'; 10_000]);
    recorder.until_measure("strangers_total", 4);
    assert_eq!(recorder.entries(), []);
}

fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Meaningless bytes, which are the same for the same seed.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}

#[test]
fn strangers_cost_little_and_keep_nobody_from_being_recorded() {
    take_all_descriptors();
    let recorder = Running::usual();
    let (mut faithful, _) = recorder.target("faithful");
    let before = resident_bytes();
    let idle: Vec<_> = (0..1_000).map(|_| TcpStream::connect(recorder.ingest).unwrap()).collect();
    // Unfinished lines: more of them than are allowed at the same time, each as long as allowed.
    let endless: Vec<_> = (0..60)
        .map(|n| {
            let (mut stream, _) = recorder.target(&format!("endless{n}"));
            stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
            thread::spawn(move || {
                let _ = stream.write_all(&vec![b'a'; messages::LONGEST_LINE - 10]);
                stream
            })
        })
        .collect();
    let half_greeted: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(recorder.ingest).unwrap();
            stream.write_all(b"{\"v\":1,\"boot\":\"slow").unwrap();
            stream
        })
        .collect();
    for seed in 0..50 {
        let mut stream = TcpStream::connect(recorder.ingest).unwrap();
        let _ = stream.write_all(&noise(seed, 20_000));
        let _ = stream.shutdown(Shutdown::Write);
    }
    for seq in 0..500 {
        faithful.write_all(line("faithful", seq).as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(2));
    }
    let entries = recorder.until(|entries| seqs(entries, "faithful").len() == 500);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 192 << 20, "{} MiB more", grown >> 20);
    let nonsense = entries.iter().filter(|entry| matches!(entry, Entry::Nonsense { .. })).count();
    assert!(nonsense <= 60, "only those that have shown the token are worth an entry: {nonsense}");
    assert!(recorder.measure("strangers_total") >= 50);
    // Connections that have not greeted or not finished a long line are finally closed.
    let began = Instant::now();
    while recorder.measure("connections") > 1 {
        assert!(began.elapsed() < Duration::from_secs(20), "{} are left", recorder.measure("connections"));
        thread::sleep(Duration::from_millis(100));
    }
    faithful.write_all(line("faithful", 500).as_bytes()).unwrap();
    recorder.until(|entries| seqs(entries, "faithful").len() == 501);
    drop((idle, endless, half_greeted));
}
