//! A storage like S3, for spooled results: `storage.py`.

use std::fs;
use std::path::PathBuf;

use crate::programs::{Program, ask, built, folder, free_port, until};

const BUCKET: &str = "spool";
const KEY: &str = "key-of-the-storage";
const SECRET: &str = "secret of the storage";

/// A running storage with an empty bucket.
pub struct Storage {
    pub url: String,
    log: PathBuf,
    _program: Program,
}

/// What the storage was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Heard {
    pub status: u16,
    pub method: String,
    pub object: String,
    /// Where the request was signed: `header` or `url`, or `unsigned`.
    pub signed: String,
}

impl Storage {
    pub fn start() -> Self {
        let (folder, port) = (folder("storage"), free_port());
        let log = folder.join("requests");
        fs::write(&log, "").unwrap();
        let output = fs::File::create(folder.join("log")).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/storage.py");
        let mut program = Program::start(&built("storage/bin/python"), |command| {
            command
                .args([script, &port.to_string(), KEY, SECRET])
                .arg(&log)
                .stdout(output.try_clone().unwrap())
                .stderr(output);
        });
        let url = format!("http://127.0.0.1:{port}");
        until("the storage has a bucket", || {
            assert!(program.runs(), "see {}", folder.display());
            let made = ask("PUT", &format!("{url}/{BUCKET}"), &[], "")?;
            (made.status == 200).then_some(())
        });
        Self {
            url,
            log,
            _program: program,
        }
    }

    /// The properties of Trino's spooling manager.
    pub fn manager(&self, more: &str) -> String {
        format!(
            "spooling-manager.name=filesystem\nfs.s3.enabled=true\nfs.location=s3://{BUCKET}/\n\
             s3.endpoint={}\ns3.region=us-east-1\ns3.path-style-access=true\n\
             s3.aws-access-key={KEY}\ns3.aws-secret-key={SECRET}\n{more}",
            self.url
        )
    }

    /// The objects in the bucket, a thousand at most.
    pub fn objects(&self) -> Vec<String> {
        let list = format!("{}/{BUCKET}?list-type=2", self.url);
        let list = ask("GET", &list, &[], "").unwrap();
        assert_eq!(list.status, 200, "{}", list.text);
        let keys = list.text.split("<Key>").skip(1);
        keys.map(|rest| rest.split('<').next().unwrap().to_owned())
            .collect()
    }

    /// All requests for objects so far.
    pub fn heard(&self) -> Vec<Heard> {
        let log = fs::read_to_string(&self.log).unwrap();
        let whole = log
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        whole
            .map(
                |line| match line.split_whitespace().collect::<Vec<_>>()[..] {
                    [status, method, object, signed] => Heard {
                        status: status.parse().unwrap(),
                        method: method.to_owned(),
                        object: object.to_owned(),
                        signed: signed.to_owned(),
                    },
                    _ => panic!("{line}"),
                },
            )
            .collect()
    }
}
