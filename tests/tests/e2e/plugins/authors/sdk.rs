//! The SDKs for JavaScript and Python by themselves: helpers, types, reference pages, and that projects get all of it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use mindhost_tests::{Project, build, expect_success};

fn tests() -> PathBuf {
    build::workspace_dir().join("tests/tests/e2e/plugins/authors")
}

fn sdk(folder: &str) -> PathBuf {
    build::workspace_dir().join("sdk").join(folder)
}

#[test]
fn the_helpers_for_javascript_do_what_they_say() {
    let mut node = Command::new(build::node());
    node.arg("--test").arg(tests().join("helpers.test.mjs"));
    let tested = node.env("SDK", sdk("javascript")).output().unwrap();
    expect_success(&tested, "helpers.test.mjs");
}

#[test]
fn the_helpers_for_python_do_what_they_say() {
    let mut python = Command::new("python3");
    python.arg("-B").arg(tests().join("helpers_test.py"));
    let tested = python.env("PYTHONPATH", sdk("python")).output().unwrap();
    expect_success(&tested, "helpers_test.py");
}

/// Files in the pages of the SDKs are unit tests of a project as they stand.
#[test]
fn the_examples_of_the_pages_run() {
    for (page, folder, program, args) in [
        ("javascript", "javascript", build::node(), vec!["--test"]),
        (
            "python",
            "python/mindhost",
            PathBuf::from("python3"),
            vec!["-B", "-m", "unittest"],
        ),
    ] {
        let page = fs::read_to_string(sdk(&format!("docs/{page}.md"))).unwrap();
        let project = tempfile::tempdir().unwrap();
        let modules = project.path().join("mindhost");
        std::os::unix::fs::symlink(sdk(folder), modules).unwrap();
        let examples: Vec<_> = page
            .split("\n```")
            .filter_map(|block| {
                block
                    .split_once('\n')?
                    .0
                    .split_once(" file=")
                    .map(|named| (named.1, block))
            })
            .collect();
        assert!(!examples.is_empty(), "{folder}");
        for (name, block) in examples {
            let (_, text) = block.split_once('\n').unwrap();
            fs::write(project.path().join(name), text).unwrap();
            let mut command = Command::new(&program);
            command.args(&args).current_dir(&project);
            let name = name.strip_suffix(".py").unwrap_or(name);
            expect_success(&command.arg(name).output().unwrap(), name);
        }
    }
}

/// All but the glue, which imports what only a component has.
#[test]
fn the_sdk_for_python_has_types_throughout() {
    let mut mypy = Command::new(build::mypy());
    mypy.current_dir(sdk("python"));
    mypy.args([
        "--strict",
        "--python-version",
        "3.10",
        "--cache-dir",
        "/dev/null",
    ]);
    let checked = mypy
        .args(["--exclude", "/glue/", "mindhost"])
        .output()
        .unwrap();
    expect_success(&checked, "mypy");
}

/// What the types declare is what there is, no more and no less.
#[test]
fn the_types_for_javascript_declare_what_the_modules_export() {
    const SCRIPT: &str = r#"
        import ts from "typescript";
        const [sdk] = process.argv.slice(2);
        for (const name of ["index", "testing"]) {
            const program = ts.createProgram([`${sdk}/${name}.d.ts`], { strict: true, types: [] });
            const checker = program.getTypeChecker();
            const module = checker.getSymbolAtLocation(program.getSourceFile(`${sdk}/${name}.d.ts`));
            const real = await import(`${sdk}/${name}.js`);
            const declared = checker.getExportsOfModule(module).filter(({ flags }) => flags & ts.SymbolFlags.Value);
            compare(name, declared.map((one) => one.name), Object.keys(real));
            for (const one of declared) {
                const type = checker.getTypeOfSymbol(one);
                if (typeof real[one.name] !== "object") continue;
                const own = Object.keys(real[one.name]).filter((key) => !INNER.includes(`${one.name}.${key}`));
                compare(one.name, type.getProperties().map((property) => property.name), own);
            }
        }
        function compare(name, declared, real) {
            const [one, other] = [declared, real].map((names) => names.toSorted().join(" "));
            if (one !== other) throw new Error(`${name} declares: ${one}\nand has: ${other}`);
        }
    "#;
    // What the modules export for each other.
    const INNER: &str = r#"const INNER = ["control.log", "http.Response", "json.Decimal", "text.byteLength",
        "text.Decoder", "text.lines", "values.instantOf"];"#;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("compare.mjs");
    fs::write(&script, format!("{INNER}\n{SCRIPT}")).unwrap();
    let modules = folder.path().join("node_modules");
    std::os::unix::fs::symlink(build::componentize_qjs(), modules).unwrap();
    let mut node = Command::new(build::node());
    let compared = node.arg(script).arg(sdk("javascript")).output().unwrap();
    expect_success(&compared, "the types");
}

#[test]
fn the_reference_pages_are_those_of_the_sources() {
    let mut python = Command::new("python3");
    python
        .arg("-B")
        .arg(sdk("docs/reference.py"))
        .arg("--check");
    let checked = python.output().unwrap();
    expect_success(&checked, "python3 sdk/docs/reference.py");
}

/// Each file of an SDK is in each project: the list of them is in the program.
#[test]
fn a_project_has_the_whole_sdk() {
    for (language, folder) in [
        ("javascript", "javascript"),
        ("typescript", "javascript"),
        ("python", "python/mindhost"),
    ] {
        let project = Project::new("space", "model", language);
        let mut own = names(&project.path().join("mindhost"));
        own.retain(|name| !name.starts_with("wit/"));
        assert_eq!(own, names(&sdk(folder)), "{language}");
        for schema in ["manifest.schema.json", "test.schema.json"] {
            let written = fs::read(project.path().join(schema)).unwrap();
            assert_eq!(written, fs::read(sdk(schema)).unwrap(), "{schema}");
        }
    }
}

/// The files below a folder, without what Python writes beside them.
fn names(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(folder)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            match path.is_dir() {
                true if name.ends_with("__pycache__") => {}
                true => folders.push(path),
                false => drop(names.insert(name)),
            }
        }
    }
    names
}
