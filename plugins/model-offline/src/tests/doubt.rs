//! Readings that are in doubt: they are declined, and what is only said in other words is read as it is meant.

use serde_json::json;

use super::foreign::check;
use super::host::Host;

fn garage() -> Host {
    Host::over(
        "CREATE TABLE mechanic (mechanic_id INTEGER PRIMARY KEY, fname TEXT, lname TEXT, wage INTEGER, town TEXT);
         CREATE TABLE truck (truck_id INTEGER PRIMARY KEY, name TEXT, mileage INTEGER, brand TEXT,
             mechanic_id INTEGER REFERENCES mechanic (mechanic_id));
         INSERT INTO mechanic VALUES (1, 'Ada', 'Moe', 10, 'Ulm'), (2, 'Bob', 'Lee', 20, 'Ulm'), (3, 'Cy', 'Poe', 30, 'Bonn');
         INSERT INTO truck VALUES (1, 'A 1', 100, 'Volvo', 1), (2, 'B 2', 200, 'Scania', 1), (3, 'C 3', 300, 'Volvo', 2);",
        json!({}),
    )
}

#[test]
fn bounds_and_directions_are_kept() {
    check(
        &garage(),
        &[
            (
                "Show the names of trucks with mileage no smaller than 200.",
                "SELECT name FROM truck WHERE mileage >= 200",
            ),
            (
                "Show the names of trucks with mileage no more than 200.",
                "SELECT name FROM truck WHERE mileage <= 200",
            ),
            (
                "List the top 2 trucks sorted by mileage ascending.",
                "SELECT name, mileage FROM truck WHERE mileage < 300",
            ),
            (
                "Which trucks have a mileage of more than 150?",
                "SELECT name FROM truck WHERE mileage > 150",
            ),
            (
                "Show the first and last names of mechanics who earn more than 15 in wage.",
                "SELECT fname, lname FROM mechanic WHERE wage > 15",
            ),
        ],
        &[],
    );
}

#[test]
fn parts_of_a_question_are_not_dropped() {
    check(
        &garage(),
        &[],
        &[
            // Nothing is called so.
            "What is the year of each truck?",
            "Show the number of mechanics in each state.",
            // The first of each group, and the average of some rows.
            "For each brand, show the highest mileage and the name of the truck with it.",
            "Show the names of Volvo trucks with mileage above the average.",
            "How many trucks are Volvo and how many are Scania?",
            // A sum of keys means nothing.
            "What is the total truck id of all trucks?",
        ],
    );
}

#[test]
fn names_that_several_rows_share_are_asked_back() {
    let host = Host::over(
        "CREATE TABLE market (market_id INTEGER PRIMARY KEY, country TEXT, number_cities INTEGER);
         INSERT INTO market VALUES (1, 'Peru', 300), (2, 'Chile', 300), (3, 'Peru', 500);",
        json!({}),
    );
    // Each country once, or that of each market.
    let answer = host.ask("What are the countries?");
    assert!(
        answer.is_declined && answer.text.contains("look the same"),
        "{answer:#?}"
    );
}

#[test]
fn a_look_up_that_is_full_is_not_taken_for_all_there_is() {
    let row = |n: usize| format!("INSERT INTO track VALUES ({n}, 'Track {n}', 'Hello');\n");
    let rows: String = (0..80).map(row).collect();
    let learned = |limit: usize| {
        let found: Vec<_> = (0..limit).map(|_| json!(["track.name", "Hello"])).collect();
        let columns = [json!({"name": "column"}), json!({"name": "value"})];
        let found = json!({"columns": columns, "rows": found, "row_count": limit});
        let host = Host::over(
            &format!("CREATE TABLE track (id INTEGER PRIMARY KEY, name TEXT, note TEXT);\n{rows}"),
            json!({}),
        );
        let catalog = crate::catalog::Catalog::parse(&host.catalog().to_string()).unwrap();
        let known = crate::lookup::learned(&catalog, &serde_json::from_value(found).unwrap());
        known.tables[0].columns[1]
            .common_values
            .iter()
            .any(|v| v == "Hello")
    };
    assert!(learned(1) && !learned(60));
}

#[test]
fn how_words_were_read_is_sent_as_assumptions() {
    let action = crate::tools::run("shop", "SELECT 1", 5, &vec!["read so".to_owned(); 9]);
    let crate::turn::Action::Call { arguments, .. } = action else {
        panic!("{action:?}");
    };
    let given: serde_json::Value = serde_json::from_str(&arguments).unwrap();
    assert_eq!(given["assumptions"].as_array().map(Vec::len), Some(8));
    let host = Host::shop();
    let answer = host.ask("total revenue");
    assert_eq!(
        answer.assumptions,
        json!(["revenue is the sum of `orders.total`"])
    );
}
