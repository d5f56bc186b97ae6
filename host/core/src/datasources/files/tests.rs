use super::*;

#[test]
fn names_are_plain() {
    // The last has a letter that parts two others, as Persian is written.
    for name in [
        "orders.csv",
        "größe 2024.parquet",
        "a",
        "x.csv.gz",
        "هفته\u{200c}ها.csv",
    ] {
        assert!(check_name(name).is_ok(), "{name}");
    }
    let long = "x".repeat(201);
    for name in [
        "",
        ".",
        "..",
        ".hidden",
        "../x.csv",
        "a/b.csv",
        "/etc/passwd",
        "a\\b",
        "a\0b",
        "a\nb",
        "_SUCCESS",
        "x ",
        "x.",
        "C:x",
        " x",
        "a*b",
        "vsc.\u{202e}exe",
        "a\u{200b}b.csv",
        "\u{feff}a.csv",
        "a\u{2028}b.csv",
        "a.csv\u{3000}",
        long.as_str(),
    ] {
        assert!(check_name(name).is_err(), "{name:?}");
    }
}

#[test]
fn directories_are_the_workspaces_own() {
    let own = Path::new("/data/files/w");
    assert_eq!(steps(own, "sales/2024").unwrap(), ["sales", "2024"]);
    assert_eq!(steps(own, "/data/files/w/sales").unwrap(), ["sales"]);
    for path in ["../other", "/data/files/other", "/etc", "a/../../b"] {
        assert_eq!(
            steps(own, path).unwrap_err().code(),
            Code::WrongState,
            "{path}"
        );
    }
}

#[test]
fn links_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("w");
    std::fs::create_dir_all(dir.path().join("other")).unwrap();
    std::fs::create_dir_all(&own).unwrap();
    std::os::unix::fs::symlink("../other", own.join("link")).unwrap();
    assert!(open(&own, &["link".to_owned()], true).is_err());
    assert!(open(&own, &["new".to_owned(), "deep".to_owned()], true).is_ok());
    assert!(own.join("new/deep").is_dir());
}

#[test]
fn uploads_of_a_killed_server_are_removed_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let (root, outside) = (dir.path().join("files"), dir.path().join("outside"));
    std::fs::create_dir_all(root.join("w/sales/2024")).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, root.join("w/link")).unwrap();
    let now = jiff::Timestamp::now();
    let write = |path: PathBuf, seconds: u64| {
        let file = File::create(&path).unwrap();
        let at = std::time::SystemTime::from(now) - Duration::from_secs(seconds);
        file.set_modified(at).unwrap();
        path
    };
    let old = [
        write(root.join("w/sales/.upload-1"), 10),
        write(root.join("w/sales/2024/.upload-2"), 2),
    ];
    let kept = [
        write(root.join("w/sales/orders.csv"), 10),
        write(outside.join(".upload-3"), 10),
        write(root.join("w/sales/.upload-4"), 0),
    ];
    assert_eq!(remove_everywhere(&root, None), 0);
    assert_eq!(remove_everywhere(&root, Some(now)), 2);
    assert!(old.iter().all(|path| !path.exists()));
    assert!(kept.iter().all(|path| path.exists()));
}
