//! The table of operators is complete.

/// A new operator is listed, or this fails: a file in which a type becomes an operator, by itself or as a
/// function of one or two numbers, is in the table.
#[test]
fn every_file_with_an_operator_is_in_the_table() {
    /// These make operators of the functions of one and of two numbers in other files.
    const MAKERS: [&str; 2] = ["elementwise", "binary"];
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ops");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let makes_one = |line: &str| {
            let mut traits = [" Operator for ", " Curve for ", " Pairwise for "].iter();
            line.starts_with("impl") && traits.any(|&of| line.contains(of))
        };
        let holds_one = text.lines().any(makes_one) && !MAKERS.contains(&name);
        let listed = super::obeys_the_laws::FILES.contains(&name);
        assert_eq!(
            holds_one, listed,
            "ops/{name}.rs: has an operator, is listed"
        );
    }
}
