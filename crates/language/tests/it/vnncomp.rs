//! Every property of the verification competition's files that lie beside the repository.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use deepconcolic_language::{Bound, Property, RequirementFile, Signature};

/// The files, or none with the reason printed when they are not there.
fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vnncomp");
    let Ok(entries) = fs::read_dir(&folder) else {
        println!("skipped: no folder {}", folder.display());
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| fs::read_dir(entry.ok()?.path().join("vnnlib")).ok())
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn two_layers(property: &Property) -> Signature {
    Signature::feed_forward([("X", property.inputs()), ("Y", property.outputs())])
}

#[test]
fn every_competition_file_is_read_and_survives_print_and_parse() {
    for path in files() {
        let bytes = fs::read(&path).unwrap();
        let property = Property::from_bytes(&bytes)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let sizes = (property.inputs(), property.outputs());
        assert!([(5, 5), (784, 10)].contains(&sizes), "{sizes:?}");
        let signature = two_layers(&property);
        let requirement = property.requirement(&signature).unwrap();
        let file = RequirementFile::parse(&requirement.to_string()).unwrap();
        let read = file.resolve(&signature).unwrap().get(0).unwrap();
        assert_eq!(read, requirement, "{}", path.display());
    }
}

#[test]
fn a_gzip_file_reads_as_the_plain_one() {
    for path in files().into_iter().take(3) {
        let plain = fs::read(&path).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&plain).unwrap();
        let packed = encoder.finish().unwrap();
        let read = Property::from_bytes(&packed).unwrap();
        assert_eq!(read, Property::from_bytes(&plain).unwrap());
    }
}

#[test]
fn acas_property_6_has_two_boxes() {
    let Some(path) = files()
        .into_iter()
        .find(|path| path.ends_with("acasxu/vnnlib/prop_6.vnnlib"))
    else {
        return;
    };
    let property = Property::from_bytes(&fs::read(path).unwrap()).unwrap();
    let cases = property.cases(&two_layers(&property)).unwrap();
    assert_eq!(cases.len(), 2);
    let second = [-0.129_289_109, -0.499_999_896, -0.499_999_896, -0.5, -0.5];
    assert_eq!(cases[1].region.lower, Bound::PerElement(second.into()));
    assert_eq!(
        cases[0].constraint.to_string(),
        "all{all{v[x1][2,1] - v[x1][2,0] <= 0} or all{v[x1][2,2] - v[x1][2,0] <= 0} \
         or all{v[x1][2,3] - v[x1][2,0] <= 0} or all{v[x1][2,4] - v[x1][2,0] <= 0}}"
    );
}
