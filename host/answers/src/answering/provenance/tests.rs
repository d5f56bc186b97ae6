//! What may be written for which datasource.

use super::*;

fn asked(words: &str) -> Provenance {
    Provenance::new(words, Date::constant(2026, 11, 27))
}

fn refused(provenance: &Provenance, datasource: &str, literal: &str) -> bool {
    let checked = provenance.check(datasource, &[literal.to_owned()]);
    checked.is_err_and(|error| error.code() == Code::SqlLiteralNotAllowed)
}

#[test]
fn value_of_one_datasource_is_refused_for_another() {
    let mut provenance = asked("What did Bob buy for 73,421 in 2024?");
    provenance.read(
        "hr",
        &json!([["Ann Miller", 98765, 73421, "Bob", 7, "2024-05-31"]]),
    );
    for brought in ["Ann Miller", "x|ann miller|98765", "98765", "Miller%"] {
        assert!(refused(&provenance, "crm", brought), "{brought}");
        assert!(!refused(&provenance, "hr", brought), "{brought}");
    }
    for said in ["bob", "73421", "2024-05-31", "7", "DE", "shipped"] {
        assert!(!refused(&provenance, "crm", said), "{said}");
    }
}

#[test]
fn value_of_an_earlier_answer_is_refused_where_it_was_not_read() {
    let mut provenance = asked("And how many visits?");
    provenance.say("SELECT 1 FROM crm.visits WHERE name = 'Quinn'");
    provenance.read("hr", &json!("Miller earns 73,421."));
    provenance.read(EARLIER_ANSWER, &json!("Harper earns 51,981."));
    for brought in ["Miller", "73421", "Harper", "51981"] {
        assert!(refused(&provenance, "crm", brought), "{brought}");
    }
    assert!(!refused(&provenance, "hr", "Miller") && !refused(&provenance, "crm", "Quinn"));
    let told = provenance.check("hr", &["Harper".to_owned()]).unwrap_err();
    assert!(told.message().contains("from an earlier answer"), "{told}");
}

/// The model answers from hr, after it read the other datasource too. Then it is asked again.
#[test]
fn what_an_answer_brought_from_elsewhere_is_not_of_its_datasource() {
    let mut before = asked("Who earns most?");
    before.read("hr", &json!([["Miller", 73421, "1990-06-23"]]));
    before.read(
        "crm",
        &json!([["asecretword1234567", "Harper", 51981, "1987-05-09", 8.5]]),
    );
    let text = "Miller earns 73,421 since 1990-06-23. Harper (asecretword1234567, 9 May 1987) pays 51,981.";
    let brought = before.brought("hr", text);
    assert_eq!(
        brought,
        ["1987-05-09", "51981", "asecretword1234567", "harper"]
    );
    assert_eq!(before.brought("hr", "Miller earns 73,421."), [""; 0]);

    let mut provenance = asked("And how many visits?");
    provenance.read_answer("hr", text, &brought);
    provenance.read("crm", &json!([["Harper", 73421]]));
    for (datasource, literal) in [
        ("hr", "asecretword1234567"),
        ("hr", "Harper"),
        ("hr", "51981"),
        ("hr", "1987-05-09"),
        ("crm", "Miller"),
        ("crm", "1990-06-23"),
    ] {
        let is_refused = refused(&provenance, datasource, literal);
        assert!(is_refused, "{datasource}: {literal}");
    }
    for literal in ["Miller", "73421", "1990-06-23"] {
        assert!(!refused(&provenance, "hr", literal), "{literal}");
    }
    // What it found in crm since may be written for it.
    assert!(!refused(&provenance, "crm", "Harper"));
}

#[test]
fn brought_value_is_read_as_it_was() {
    let mut before = asked("Compare the two.");
    before.read("crm", &json!(["12.50", "1987-05-09 10:17:33"]));
    let brought = before.brought("hr", "It is 12.5, at 1987-05-09T10:17:33.");
    let mut provenance = asked("And how many visits?");
    provenance.read_answer("hr", "It is 12.5, at 1987-05-09T10:17:33.", &brought);
    for literal in ["12.5", "12.50", "1987-05-09", "1987-05-09 10:17:33"] {
        assert!(
            refused(&provenance, "hr", literal),
            "{literal}: {brought:?}"
        );
    }
}

#[test]
fn name_is_refused_if_it_is_a_value_of_another_datasource() {
    let mut provenance = asked("Compare Quinn with the others.");
    let comment = "revenue of each customer";
    provenance.read(
        "hr",
        &json!([[
            "asecretword1234567",
            "Ann Miller",
            "Harper",
            "Quinn",
            73421,
            comment
        ]]),
    );
    provenance.read("crm", &json!(["Bob"]));
    provenance.read("hr", &json!(["Bob"]));
    let refused = |name: &str| provenance.check_names("crm", &[name.to_owned()]).is_err();
    for name in [
        "asecretword1234567",
        "x_asecretword1234567",
        "Ann_Miller",
        "harper",
        "c_73421",
    ] {
        assert!(refused(name), "{name}");
        let own = provenance.check_names("hr", &[name.to_owned()]);
        assert!(own.is_ok(), "{name}");
    }
    for name in ["revenue", "customer", "quinn", "bob", "t1", "total_2024"] {
        assert!(!refused(name), "{name}");
    }
}

#[test]
fn usual_sql_is_nobodys_value() {
    let mut provenance = asked("Compare the two.");
    let comment = "orders per month, with the total of each customer";
    provenance.read("hr", &json!([[100, 1000, 365, 250, "month", comment]]));
    for usual in [
        "100.0",
        "100",
        "1000",
        "365",
        "250",
        "month",
        "Month YYYY",
        "1 year 6 months",
        "100 days",
        "%Y-%m-%d",
        "Total revenue",
        "revenue of a customer",
    ] {
        assert!(!refused(&provenance, "crm", usual), "{usual}");
    }
    for brought in ["customer", "%customer%", "total orders", comment] {
        assert!(refused(&provenance, "crm", brought), "{brought}");
    }
}

#[test]
fn number_is_refused_in_whatever_text_it_stands() {
    let mut provenance = asked("Compare the two.");
    provenance.read("hr", &json!([["Miller", 51981, 73421, 123]]));
    for brought in [
        "51981",
        "73421.0",
        "salary is 73421",
        "id_73421",
        "LIMIT 123",
        "0073421",
        "73_421",
        "7_3421",
        "73421e0",
        "7.3421e4",
        "0x11ecd",
    ] {
        assert!(refused(&provenance, "crm", brought), "{brought}");
    }
}

#[test]
fn large_number_is_refused_with_all_its_digits() {
    let mut provenance = asked("Compare the two, and 51 981.");
    let longest = "1234567890123456789012345678901234567890";
    let numbers = json!([[
        4_111_111_111_111_111_u64,
        1_234_567_890_123_456_789_u64,
        73421,
        51981,
        longest
    ]]);
    provenance.read("hr", &numbers);
    for brought in [
        "4111111111111111",
        "4111111111111111e0",
        "4111111111111111E+0",
        "-411111111111111.1e1",
        "1234567890123456789e0",
        "1.234567890123456789e18",
        "1,234,567,890,123,456,789",
        "00001234567890123456789012345678901234567890",
        "123456789012345678901234567890123456789.0e1",
        "73,421",
        "73 421",
        "73.421",
        "73\u{202f}421",
        "73'421",
        "sold for 73,421",
    ] {
        assert!(refused(&provenance, "crm", brought), "{brought}");
        assert!(!refused(&provenance, "hr", brought), "{brought}");
    }
    for other in [
        "4111111111111112e0",
        "1234567890123456788e0",
        "51 981",
        "51,981",
        "73,422",
        "1e15",
        "1e25",
    ] {
        assert!(!refused(&provenance, "crm", other), "{other}");
    }
    let names = |name: &str| provenance.check_names("crm", &[name.to_owned()]);
    assert!(names("c_73_421").is_err() && names("c_73_422").is_ok());
}

#[test]
fn value_that_the_datasource_has_itself_may_be_written() {
    let mut provenance = asked("How many?");
    provenance.read(
        "hr",
        &json!({"description": "status is shipped or returned"}),
    );
    assert!(refused(&provenance, "crm", "shipped"));
    provenance.read("crm", &json!({"common_values": ["shipped"]}));
    assert!(!refused(&provenance, "crm", "shipped"));
}

#[test]
fn date_is_refused_as_a_whole() {
    let mut provenance = asked("Who was born in June?");
    provenance.read(
        "hr",
        &json!([
            ["1987-06-23", "2024-03-05T10:15:23Z"],
            ["12.09.1990"],
            ["7/24/88"]
        ]),
    );
    provenance.read("hr", &json!({"max": 20_080_415}));
    for brought in [
        "1987-06-23",
        "1987-06-23 00:00:00",
        "x|1987-06-23",
        "19870623",
        "1987-174",
        "1987174",
        "23.06.1987",
        "June 23, 1987",
        "2024-03-05",
        "2024-03-05 10:15:23",
        "1990-09-12",
        "2008-04-15",
        "6/23/87",
        "23.6.87",
        "7/24/88",
        "1988-07-24",
    ] {
        assert!(refused(&provenance, "crm", brought), "{brought}");
        assert!(!refused(&provenance, "hr", brought), "{brought}");
    }
    for other in [
        "1987-06-24",
        "1988-06-23",
        "1987-06-01",
        "1987-06-30",
        "2024-03-06",
        "6/24/87",
        "6/23/88",
    ] {
        assert!(!refused(&provenance, "crm", other), "{other}");
    }
}

#[test]
fn date_that_was_said_or_is_usual_may_be_written() {
    let question = "How many since 1987-06-23, on 5 March 2024, after 4/17/2019, and by 9 May?";
    let mut provenance = asked(question);
    provenance.say("The fiscal year begins on 2023-07-06.");
    let may_be_written = [
        "1987-06-23",
        "1987-06-23T00:00:00",
        "2024-03-05",
        "2019-04-17",
        "2025-05-09",
        "2023-07-06",
        // Where a half-open range ends.
        "2024-03-06",
        "2024-01-01",
        "2024-12-31",
        "2024-02-29",
        "2024-03-01T00:00:00Z",
        "2024-03-31 23:59:59",
        // The last week, 30 days and three months.
        "2026-11-20",
        "2026-10-28",
        "2026-08-27",
    ];
    provenance.read("hr", &json!(may_be_written));
    for usual in may_be_written {
        assert!(!refused(&provenance, "crm", usual), "{usual}");
    }
}

#[test]
fn day_that_was_said_may_be_written_with_the_days_beside_it() {
    let mut provenance = asked("How many visits on 9 May, and how many after 6/23/87?");
    let may_be_written = [
        "2025-05-08",
        "2025-05-09",
        "2025-05-10",
        "20250510",
        "1987-06-22",
        "1987-06-23",
        "1987-06-24",
    ];
    provenance.read("hr", &json!(may_be_written));
    provenance.read("hr", &json!(["2025-05-11", "1987-06-25"]));
    for said in may_be_written {
        assert!(!refused(&provenance, "crm", said), "{said}");
    }
    for brought in ["2025-05-11", "1987-06-25"] {
        assert!(refused(&provenance, "crm", brought), "{brought}");
    }
}

#[test]
fn number_that_reads_like_a_usual_date_is_still_a_number() {
    let mut provenance = asked("Who came on 1 April 2024, and who is 20240501?");
    provenance.read(
        "hr",
        &json!([[20_240_301, "20240401", 20_240_501, 20_240_601]]),
    );
    for brought in ["20240301", "x|20240301", "20240601"] {
        assert!(refused(&provenance, "crm", brought), "{brought}");
        assert!(!refused(&provenance, "hr", brought), "{brought}");
    }
    for other in ["20240401", "20240501", "20240701", "2024-03-01"] {
        assert!(!refused(&provenance, "crm", other), "{other}");
    }
    provenance.read("crm", &json!("2024-06-01"));
    assert!(!refused(&provenance, "crm", "20240601"));
}

#[test]
fn decimal_without_its_last_zero_is_refused() {
    let mut provenance = asked("Is 13.5 or 14,5 too much?");
    provenance.read("hr", &json!([["12.50", "13.50", "14.50", "15.50", 16.5]]));
    provenance.read("crm", &json!([[15.5]]));
    for brought in ["12.5", "12.50", "x|12.5"] {
        assert!(refused(&provenance, "crm", brought), "{brought}");
        assert!(!refused(&provenance, "hr", brought), "{brought}");
    }
    for other in ["13.5", "13.50", "14.5", "15.5", "15.50", "16.5", "12.6"] {
        assert!(!refused(&provenance, "crm", other), "{other}");
    }
}

#[test]
fn decimal_is_refused_as_a_whole() {
    let mut provenance = asked("Is 7.77 or 8,88 too much?");
    let prices = json!([[
        12.34, "99.95", "1,250.75", 7.77, "8.88", 0.05, 1.19, 12.5, 12.0
    ]]);
    provenance.read("hr", &prices);
    for brought in [
        "12.34",
        "12.340",
        "99.95",
        "x|99.95",
        "99.95 EUR",
        "1250.75",
    ] {
        assert!(refused(&provenance, "crm", brought), "{brought}");
        assert!(!refused(&provenance, "hr", brought), "{brought}");
    }
    for other in [
        "12.35", "7.77", "8.88", "0.05", "1.19", "12.5", "12", "12.00", "99",
    ] {
        assert!(!refused(&provenance, "crm", other), "{other}");
    }
    provenance.read("crm", &json!({"common_values": ["99.95"]}));
    assert!(!refused(&provenance, "crm", "99.95"));
}
