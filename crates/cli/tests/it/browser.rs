//! The report in a real browser, by `crates/report/browser/run.sh`. A browser is large and a matter of the system, so the
//! test has a switch of its own, which the gate sets.

use std::env;
use std::path::Path;
use std::process::Command;

const SWITCH: &str = "DEEPCONCOLIC_BROWSER_TESTS";

#[test]
fn the_report_is_as_it_should_be_in_a_browser() {
    if env::var_os(SWITCH).is_none() {
        println!("skipped: the report is not looked at in a browser: {SWITCH} is not set");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/browser/run.sh");
    let output = Command::new("bash")
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_deepconcolic"))
        .output();
    let output = output.expect("there is a bash");
    let [said, complained] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    print!("{said}");
    assert!(output.status.success(), "{said}{complained}");
    let is_told = said.contains("pages looked at") || said.contains("skipped: ");
    assert!(is_told, "{said}");
}
