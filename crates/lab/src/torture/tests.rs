use super::*;
use crate::torture::trial::guarded_trial;

/// `raddle torture` once found a violated property in each of these experiments.
#[test]
fn experiments_that_failed_once_hold() {
    let registry = Arc::new(Registry::builtin());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/torture/found");
    let mut failed = Vec::new();
    let mut tried = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let experiment: Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
        tried += 1;
        match guarded_trial(experiment, &registry) {
            Ok(trial::Trial::Held { .. }) => {}
            Ok(_) => failed.push(format!("{}: not run", path.display())),
            Err(Violation { property, seen, .. }) => {
                failed.push(format!("{} violates: {property}\n{seen}", path.display()));
            }
        }
    }
    assert!(tried > 0 && failed.is_empty(), "{}", failed.join("\n\n"));
}
