//! The last part of the page: what ran and where, and how to judge everything again.

use probity_report::run_log::Suite;

use crate::certificate;
use crate::html::Html;
use crate::index::Index;
use crate::words::{counted, span};

/// The section.
pub(crate) fn html(index: &Index<'_>) -> Html {
    let report = index.report;
    let mut page = Html::default();
    page.raw("<section id=\"run\" aria-labelledby=\"run-title\">\n<div class=\"head\"><h2 id=\"run-title\">Run</h2></div>\n");
    page.raw("<dl class=\"facts\">\n");
    let mut say = |name: &str, value: &str| {
        if !value.is_empty() {
            page.put("<div><dt>{}</dt><dd>{}</dd></div>\n", &[&name, &value]);
        }
    };
    say("Run", &report.run_id);
    let tool = &report.tool;
    let modified = if tool.modified { ", built from modified sources" } else { "" };
    say("Program", &format!("{} {} {}{modified}", tool.name, tool.version, tool.target));
    say("Commit", &tool.commit);
    say("Program's digest", &tool.digest);
    say("Book", &book(&report.suite));
    say("Judged by", &report.judged_by.as_ref().map(book).unwrap_or_default());
    if let Some(ground) = &report.environment {
        say("Namespace", &ground.namespace);
        say("Target's image", &ground.image);
    }
    if let Some(usage) = report.usage {
        let memory = usage.peak_memory >> 20;
        say("Took", &span(usage.wall_us));
        say(
            "Harness",
            &format!("{} requests, {} of CPU time, {memory} MiB", usage.requests, span(usage.cpu_us)),
        );
        let stalls = counted(usize::try_from(usage.stalls).unwrap_or(usize::MAX), "time");
        say("Harness stalled", &format!("{stalls}, for {}", span(usage.stalled_us)));
    }
    page.raw("</dl>\n");
    nodes(&mut page, index);
    page.add(&certificate::html(index));
    if !report.command.is_empty() {
        page.put(
            "<h3>The command</h3>\n<pre class=\"command\"><code>{}</code></pre>\n",
            &[&report.command.join(" ")],
        );
    }
    page.raw("<h3>Judge again</h3>\n<p>In the run's folder, without a cluster:</p>\n")
        .raw("<pre class=\"command\"><code>probity report .</code></pre>\n</section>\n");
    page
}

fn book(suite: &Suite) -> String {
    format!("{} {} {}", suite.name, suite.version, suite.digest)
}

fn nodes(page: &mut Html, index: &Index<'_>) {
    let Some(ground) = index.report.environment.as_ref().filter(|ground| !ground.nodes.is_empty()) else {
        return;
    };
    page.raw("<h3>Nodes</h3>\n<div class=\"wide\"><table class=\"plain\"><caption class=\"unseen\">Nodes of the run</caption><thead><tr><th scope=\"col\">Node</th><th scope=\"col\">Kubelet</th>")
        .raw("<th scope=\"col\">Runtime</th><th scope=\"col\">System</th><th scope=\"col\">Kernel</th></tr></thead>\n<tbody>\n");
    for (name, node) in &ground.nodes {
        page.put(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}, {}</td><td>{}</td></tr>\n",
            &[name, &node.kubelet, &node.runtime, &node.os_image, &node.architecture, &node.kernel],
        );
    }
    page.raw("</tbody></table></div>\n");
}
