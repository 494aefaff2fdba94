#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]
use probity_model::*;
use probity_simulator::*;
fn main() {
    let mut verbose = false;
    let mut defects = vec![];
    let mut seed = 1;
    for path in std::env::args().skip(1) {
        if path == "-v" {
            verbose = true;
            continue;
        }
        if let Some(n) = path.strip_prefix("-s") {
            seed = n.parse().unwrap();
            continue;
        }
        if let Some(name) = path.strip_prefix("-d") {
            defects.push(*Defect::ALL.iter().find(|d| format!("{d:?}") == name).unwrap());
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for case in Case::read(&path, &text).map_err(|e| e.to_string()).unwrap() {
            let h = simulate(&case, &defects, seed);
            if verbose {
                println!("{}", h.write().unwrap());
            }
            let last = h.events().next_back().unwrap();
            println!("== {} events {} end {:.1}s", case.name, h.events().len(), last.1.us as f64 / 1e6);
            for (_, e) in h.events() {
                if let probity_model::history::Happening::Deed(d) = &e.what {
                    use probity_model::history::Did;
                    match &d.did {
                        Did::Waited { what, came } => {
                            println!("   {:.1} waited {what}: {came}", e.us as f64 / 1e6)
                        }
                        Did::Failed { what, why } => println!("   FAILED {what}: {why}"),
                        Did::Over { why } if why != "done" => println!("   OVER {why}"),
                        _ => {}
                    }
                }
            }
            let reg = probity_suites::draft().unwrap();
            for j in reg.judge(&h) {
                println!(
                    "   {} {} {} {}",
                    if j.intended { "*" } else { " " },
                    j.clause,
                    j.verdict.word(),
                    j.verdict.sentence()
                );
            }
        }
    }
}
