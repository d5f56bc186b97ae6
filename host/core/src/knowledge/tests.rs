//! Knowledge as YAML, and its bounds.

use proptest::prelude::*;

use super::*;
use mindhost_base::error::Code;

/// Text that the rules accept, of any letters and signs.
fn text(longest: usize) -> impl Strategy<Value = String> {
    let char = prop_oneof![
        4 => any::<char>(),
        4 => proptest::sample::select(" \n\t:#-?*&!|>'\"%@`{}[],~=0.eEx_<\\".chars().collect::<Vec<_>>()),
        2 => proptest::sample::select(vec!['a', 'Z', '9', 'ß', '😀', '\u{2028}', '\u{85}', '\u{feff}']),
    ];
    proptest::collection::vec(char, 1..longest).prop_filter_map("refused", |chars| {
        let text: String = chars.into_iter().collect();
        let text = text.trim().to_owned();
        check_text("text", &text, usize::MAX)
            .is_ok()
            .then_some(text)
    })
}

/// Words that a YAML reader may take for something else than text.
fn tricky() -> impl Strategy<Value = String> {
    let words = "null ~ true no 0x1F 1e3 .nan 12:30:00 2026-11-22 - ? : <<";
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    prop_oneof![3 => text(40), 1 => proptest::sample::select(words)]
}

fn line() -> impl Strategy<Value = String> {
    tricky().prop_filter("several lines", |text| !text.contains(char::is_control))
}

fn knowledge() -> impl Strategy<Value = Knowledge> {
    let maybe = || proptest::option::of(tricky());
    let lines = || proptest::collection::vec(line(), 0..4);
    prop_oneof![
        (line(), text(400))
            .prop_map(|(name, text)| Knowledge::Instruction(Instruction { name, text })),
        (
            line(),
            lines(),
            tricky(),
            proptest::option::of((line(), proptest::option::of(line())))
        )
            .prop_map(|(name, synonyms, meaning, place)| {
                let (table, column) =
                    place.map_or((None, None), |(table, column)| (Some(table), column));
                Knowledge::Term(Term {
                    name,
                    synonyms,
                    meaning,
                    table,
                    column,
                })
            }),
        (line(), lines(), maybe(), tricky(), tricky(), maybe()).prop_map(
            |(name, synonyms, description, expression, from, filter)| {
                Knowledge::Metric(Metric {
                    name,
                    synonyms,
                    description,
                    expression,
                    from,
                    filter,
                })
            }
        ),
        (line(), maybe(), line(), line(), line()).prop_map(
            |(name, description, from_table, to_table, column)| {
                Knowledge::Relationship(Relationship {
                    name,
                    description,
                    from_table,
                    from_columns: vec![column.clone()],
                    to_table,
                    to_columns: vec![column],
                    cardinality: Some(Cardinality::ManyToOne),
                })
            }
        ),
        (tricky(), text(400), maybe()).prop_map(|(question, sql, notes)| {
            Knowledge::VerifiedQuery(VerifiedQuery {
                question,
                sql,
                notes,
            })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn exported_knowledge_is_read_back_as_it_was(mut all in proptest::collection::vec(knowledge(), 0..8)) {
        for one in &all {
            check(one).unwrap();
        }
        let yaml = yaml::write(&all).unwrap();
        let read: Vec<_> = yaml::read(yaml.as_bytes()).unwrap().into_iter().map(|one| one.knowledge).collect();
        // One list for each kind, each in its order.
        all.sort_by_key(|one| one.kind() as u8);
        prop_assert_eq!(read, all, "{}", yaml);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Err(error) = yaml::read(&bytes) {
            prop_assert_eq!(error.code(), Code::InvalidYaml);
        }
    }
}

fn refused(yaml: &str) -> String {
    let error = yaml::read(yaml.as_bytes()).unwrap_err();
    assert_eq!(error.code(), Code::InvalidYaml, "{error}");
    error.message().to_owned()
}

#[test]
fn errors_of_a_document_name_the_line() {
    let message = refused("terms:\n  - name: regular\n    meening: often here\n");
    assert!(
        message.starts_with("line 3: unknown field `meening`"),
        "{message}"
    );
    assert_eq!(message.matches("line").count(), 1, "{message}");
    assert!(refused("terms:\n  - name: regular\n").contains("meaning"));
    assert!(refused("words: []\n").contains("words"));
    assert!(refused("metrics: {name: revenue}\n").contains("line 1"));
    assert!(refused("terms: [\n\n").contains("line"));
    let twice = refused("terms:\n  - name: a\n    meaning: b\n    name: c\n");
    assert!(twice.contains("line 4"), "{twice}");
    let null = refused("terms:\n  - name: a\n    meaning: b\n    synonyms: [c, null]\n");
    assert!(
        null.starts_with("line 4") && null.contains("cannot be null") && !null.contains("Option"),
        "{null}"
    );
    let error = yaml::read(b"terms:\n  - name: \xff\n").unwrap_err();
    assert!(error.message().contains("line 2"), "{error}");
}

#[test]
fn block_scalar_ends_before_its_last_line_break() {
    let yaml = "instructions:
  - name: year
    text: |
      It begins in April.
      Say which.
verified_queries:
  - question: >
      How many?
    sql: |+
      SELECT 1

";
    let read: Vec<_> = yaml::read(yaml.as_bytes())
        .unwrap()
        .into_iter()
        .map(|one| one.knowledge)
        .collect();
    for one in &read {
        check(one).unwrap();
    }
    let expected = [
        Knowledge::Instruction(Instruction {
            name: "year".to_owned(),
            text: "It begins in April.\nSay which.".to_owned(),
        }),
        Knowledge::VerifiedQuery(VerifiedQuery {
            question: "How many?".to_owned(),
            sql: "SELECT 1".to_owned(),
            notes: None,
        }),
    ];
    assert_eq!(read, expected);
}

#[test]
fn document_without_entries_is_written_out_and_an_empty_one_is_refused() {
    for without in ["{}\n", "terms: []\n", "---\nmetrics: []\n"] {
        assert_eq!(yaml::read(without.as_bytes()).unwrap(), [], "{without:?}");
    }
    assert_eq!(yaml::write([]).unwrap(), "{}\n");
    for empty in ["", "\n", "# nothing yet\n", "---\n"] {
        assert!(refused(empty).contains("is empty"), "{empty:?}");
    }
}

/// Ten levels of ten aliases each would be ten billion words.
#[test]
fn hostile_documents_are_refused_at_once() {
    let mut bomb = String::from("a: &a [x]\n");
    for (level, before) in ('b'..'k').zip('a'..) {
        let aliases = vec![format!("*{before}"); 10].join(", ");
        bomb.push_str(&format!("{level}: &{level} [{aliases}]\n"));
    }
    let deep = format!("terms: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_maps = "? ".repeat(50_000);
    let began = std::time::Instant::now();
    for hostile in [
        bomb.as_str(),
        &deep,
        &deep_maps,
        "terms:\n  - &one {name: a, meaning: b}\n  - *one\n",
        "base: &base {name: a}\nterms:\n  - <<: *base\n    meaning: b\n",
        "terms: []\n---\nterms: []\n",
        "terms: !!binary aGVsbG8=\n",
    ] {
        refused(hostile);
    }
    assert!(began.elapsed() < std::time::Duration::from_secs(60));
    let large = vec![b' '; yaml::MAX_BYTES + 1];
    assert_eq!(yaml::read(&large).unwrap_err().code(), Code::BodyTooLarge);
}

fn param(knowledge: &Knowledge) -> Option<String> {
    let refused = check(knowledge).err()?;
    refused.param_name().map(str::to_owned)
}

#[test]
fn fields_have_bounds() {
    let instruction = |name: &str, text: &str| {
        let (name, text) = (name.to_owned(), text.to_owned());
        Knowledge::Instruction(Instruction { name, text })
    };
    assert_eq!(
        param(&instruction("year", "In April.\n\tNot before.")),
        None
    );
    for (name, text, wrong) in [
        ("", "x", "name"),
        (" year", "x", "name"),
        ("ye\nar", "x", "name"),
        ("year", "", "text"),
        ("year", "a\u{0}b", "text"),
        ("year", "a\u{1b}[31mb", "text"),
    ] {
        assert_eq!(
            param(&instruction(name, text)).as_deref(),
            Some(wrong),
            "{name:?} {text:?}"
        );
    }
    assert_eq!(param(&instruction(&"é".repeat(200), "x")), None);
    assert_eq!(
        param(&instruction(&"é".repeat(201), "x")).as_deref(),
        Some("name")
    );
    let relationship = |from: &[&str], to: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Knowledge::Relationship(Relationship {
            name: "items".to_owned(),
            description: None,
            from_table: "item".to_owned(),
            from_columns: owned(from),
            to_table: "orders".to_owned(),
            to_columns: owned(to),
            cardinality: None,
        })
    };
    assert_eq!(param(&relationship(&["a", "b"], &["c", "d"])), None);
    assert_eq!(
        param(&relationship(&["a", "b"], &["c"])).as_deref(),
        Some("to_columns")
    );
    assert_eq!(
        param(&relationship(&[], &[])).as_deref(),
        Some("from_columns")
    );
}

#[test]
fn names_differ_by_more_than_case_and_spaces() {
    let key = |question: &str| {
        Knowledge::VerifiedQuery(VerifiedQuery {
            question: question.to_owned(),
            sql: "SELECT 1".to_owned(),
            notes: None,
        })
        .name_key()
    };
    assert_eq!(key("How many  Orders?"), key("how many orders?"));
    assert_ne!(key("How many orders?"), key("How many ordes?"));
}
