//! Mine.
#![allow(warnings, clippy::all, clippy::pedantic)]
mod book;
use probity_simulator::{Defect, simulate};
#[test]
fn mine() {
    let want: Vec<String> = std::env::var("CASES").unwrap().split(',').map(str::to_owned).collect();
    let defects: Vec<String> =
        std::env::var("DEFECTS").unwrap_or_default().split(',').map(str::to_owned).collect();
    for case in book::CASES.iter().filter(|c| want.iter().any(|w| c.name.0.contains(w.as_str()))) {
        for seed in 1..=4 {
            let history = simulate(case, &[], seed);
            for (_, e) in history.events() {
                if let probity_model::history::Happening::Deed(d) = &e.what {
                    let t = format!("{:?}", d.did);
                    if t.contains("came: false") || t.starts_with("Failed") {
                        println!("{} {seed} DEED {t}", case.name);
                    }
                }
            }
            for j in book::judge(&history) {
                let w = j.verdict.word();
                if (j.intended && w != "holds") || w == "violated" || (seed == 1 && j.intended) {
                    println!(
                        "{} seed {seed}: {} {w} {} {:?}",
                        case.name,
                        j.clause,
                        if w == "holds" { String::new() } else { j.verdict.sentence().to_string() },
                        if w == "holds" { vec![] } else { j.facets.clone() }
                    );
                }
            }
        }
        for d in Defect::ALL.iter().filter(|d| defects.contains(&format!("{d:?}"))) {
            for seed in 1..=2 {
                let h = simulate(case, &[*d], seed);
                if std::env::var("V").is_ok() { for (_, e) in h.events() { let t = format!("{:?}", e.what); if t.contains("Deed") || t.contains("Joined") || t.contains("Exiting") || t.contains("Left") { println!("{} {}", e.us, &t[..t.len().min(150)]); } }
 { let run = probity_model::Timeline::of(&h); for pod in &run.pods { println!("pod {} created {} policy {} over {}", pod.name, pod.created.is_some(), pod.restart_policy(), pod.over().is_some()); for of in &pod.containers { for a in &of.attempts { println!("{} {:?} #{} began {:?} watched5 {} exit {:?}", of.name, of.kind, a.number, a.began.stamp, run.watched_for(pod, &a.began, 5_000_000), a.exited_by_itself().map(|(l, c)| (l.at.clone(), c))); } } } println!("deeds {:?}", run.deeds.iter().map(|(_, d)| d.began_us).collect::<Vec<_>>()); }
 for j in book::judge(&h) { if j.intended { println!("{} {}", j.clause, j.verdict.sentence()); } } }
                let v: Vec<_> = book::violated(&h).into_iter().map(|(c, _)| c).collect();
                println!("{} {d:?} seed {seed}: {v:?}", case.name);
            }
        }
    }
}
