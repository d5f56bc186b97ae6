//! Wordings of the same wish: each question gives the rows of a statement written by hand, or is declined.

use serde_json::json;

use super::foreign::check;
use super::host::Host;

#[test]
fn everyday_names_of_tables_columns_and_values() {
    let host = Host::over(
        "CREATE TABLE clientele (id INTEGER PRIMARY KEY, f_name TEXT, l_name TEXT, zipcode TEXT, region TEXT);
         CREATE TABLE article_data (id INTEGER PRIMARY KEY, title TEXT, written_by TEXT, year_printed INTEGER);
         CREATE TABLE fine (id INTEGER PRIMARY KEY, member_id INTEGER REFERENCES clientele (id), amount REAL);
         CREATE TABLE loan (id INTEGER PRIMARY KEY, member_id INTEGER REFERENCES clientele (id),
             article_id INTEGER REFERENCES article_data (id));
         INSERT INTO clientele VALUES (1, 'Ada', 'Ek', '0150', 'Europe'), (2, 'Bo', 'Ly', '5003', 'Asia'),
             (3, 'Cy', 'Fo', '5004', 'Europe');
         INSERT INTO article_data VALUES (1, 'Tides', 'Ida Moe', 1999), (2, 'Reefs', 'Ola Vik', 2004);
         INSERT INTO fine VALUES (1, 1, 5), (2, 1, 7), (3, 2, 9);
         INSERT INTO loan VALUES (1, 1, 1), (2, 2, 2), (3, 2, 1);",
        json!({}),
    );
    check(
        &host,
        &[
            ("How many articles are there?", "SELECT 2"),
            (
                "List the writers of all articles.",
                "SELECT written_by FROM article_data",
            ),
            ("How many members are there?", "SELECT 3"),
            (
                "What are the first names and postal codes of all members?",
                "SELECT f_name, zipcode FROM clientele",
            ),
            ("How many European members are there?", "SELECT 2"),
        ],
        &[],
    );
}

#[test]
fn texts_that_are_numbers() {
    let host = Host::over(
        "CREATE TABLE wrestler (wrestler_id INTEGER PRIMARY KEY, name TEXT, height TEXT, belts TEXT);
         INSERT INTO wrestler VALUES (1, 'Ari', '99', '3'), (2, 'Bub', '180', '12'), (3, 'Cid', '201', '7');",
        json!({}),
    );
    check(
        &host,
        &[
            ("What is the name of the tallest wrestler?", "SELECT 'Cid'"),
            ("What is the average height of wrestlers?", "SELECT 160"),
            (
                "List the names of wrestlers ordered by belts descending.",
                "SELECT name FROM wrestler",
            ),
            (
                "Which wrestlers have belts above the average?",
                "SELECT name FROM wrestler WHERE wrestler_id = 2",
            ),
        ],
        &[],
    );
    let ordered = host.ask("List the names of wrestlers ordered by belts descending.");
    let names = host.texts(&ordered.sql[0]);
    assert_eq!(names[0][0], "Bub", "twelve is more than seven: {ordered:?}");
}

#[test]
fn whose_name_and_what_it_is_called() {
    let host = Host::over(
        "CREATE TABLE person (person_id INTEGER PRIMARY KEY, name TEXT, weight INTEGER, town TEXT);
         CREATE TABLE jockey (jockey_id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES person (person_id),
             wins INTEGER);
         CREATE TABLE brewer (brewer_id INTEGER PRIMARY KEY, brewer TEXT, full_name TEXT, town TEXT);
         CREATE TABLE recipe (recipe_id INTEGER PRIMARY KEY, recipe_name TEXT,
             brewer_id INTEGER REFERENCES brewer (brewer_id));
         CREATE TABLE batch (batch_id INTEGER PRIMARY KEY, batch_description TEXT,
             recipe_id INTEGER REFERENCES recipe (recipe_id));
         INSERT INTO person VALUES (1, 'Una', 50, 'Ulm'), (2, 'Per', 61, 'Bonn'), (3, 'Kim', 90, 'Ulm');
         INSERT INTO jockey VALUES (1, 1, 4), (2, 2, 9);
         INSERT INTO brewer VALUES (1, 'oak', 'Oak and Sons', 'Ulm'), (2, 'elm', 'Elm Ltd', 'Ulm');
         INSERT INTO recipe VALUES (1, 'Bitter', 1), (2, 'Stout', 1), (3, 'Porter', 2);
         INSERT INTO batch VALUES (1, 'smoky', 1), (2, 'sweet', 2);",
        json!({}),
    );
    check(
        &host,
        &[
            ("What are the wins of the heaviest jockey?", "SELECT 9"),
            (
                "Who is the heaviest person? Give me his or her name.",
                "SELECT 'Kim'",
            ),
            (
                "For each recipe, its name and the number of batches.",
                "SELECT recipe_name, 1 FROM recipe WHERE recipe_id < 3",
            ),
        ],
        &[
            // A brewer has two names.
            "What is the name of each brewer?",
            // A batch has a description, a recipe has none.
            "Return the different descriptions for recipes that have been used in a batch.",
        ],
    );
}

#[test]
fn pairs_of_rows_of_one_table() {
    let host = Host::over(
        "CREATE TABLE villager (id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
         CREATE TABLE ally (villager_id INTEGER REFERENCES villager (id), ally_id INTEGER REFERENCES villager (id),
             PRIMARY KEY (villager_id, ally_id));
         INSERT INTO villager VALUES (1, 'Ana', 30), (2, 'Ben', 40), (3, 'Cat', 50);
         INSERT INTO ally VALUES (1, 2), (1, 3), (2, 3);",
        json!({}),
    );
    check(
        &host,
        &[
            ("How many allies does the villager Ana have?", "SELECT 2"),
            (
                "Show the names of villagers who have at least 2 allies.",
                "SELECT 'Ana'",
            ),
            ("Which villager has the most allies?", "SELECT 'Ana'"),
            (
                "What are the names of villagers who do not have any ally?",
                "SELECT 'Cat'",
            ),
        ],
        &[
            "Return the names of allies of the villager Ana.",
            "What are the names of villagers who are allied with Ana?",
        ],
    );
}

#[test]
fn rows_that_lack_others() {
    let host = Host::over(
        "CREATE TABLE guide (guide_id INTEGER PRIMARY KEY, name TEXT, district TEXT);
         CREATE TABLE guide_tongue (guide_id INTEGER REFERENCES guide (guide_id), tongue TEXT,
             PRIMARY KEY (guide_id, tongue));
         CREATE TABLE tour (tour_id INTEGER PRIMARY KEY, title TEXT, guide_id INTEGER REFERENCES guide (guide_id));
         INSERT INTO guide VALUES (1, 'Ana', 'north'), (2, 'Ben', 'south'), (3, 'Cat', 'south');
         INSERT INTO guide_tongue VALUES (1, 'Dutch'), (1, 'Latin'), (2, 'Latin'), (3, 'Dutch');
         INSERT INTO tour VALUES (1, 'Old Town', 1), (2, 'Docks', 1), (3, 'Parks', 3);",
        json!({}),
    );
    check(
        &host,
        &[
            (
                "What are the names of guides that do not speak Dutch?",
                "SELECT 'Ben'",
            ),
            (
                "List the names of guides who have not been assigned to tours.",
                "SELECT 'Ben'",
            ),
            (
                "Show the names of guides that are not used by any tour.",
                "SELECT 'Ben'",
            ),
        ],
        // A district with such a guide may have others: of which the question is, is not said.
        &["What are the districts that do not speak Dutch?"],
    );
}

#[test]
fn comparisons_that_name_what_they_compare() {
    let host = Host::over(
        "CREATE TABLE crate (crate_id INTEGER PRIMARY KEY, label TEXT, weight INTEGER, distance INTEGER,
             shipped_year INTEGER, made_year INTEGER);
         INSERT INTO crate VALUES (1, 'A', 5, 70, 2001, 1990), (2, 'B', 15, 20, 2005, 1991),
             (3, 'C', 25, 90, 2010, 2004);",
        json!({}),
    );
    check(
        &host,
        &[
            (
                "Find the number of crates whose weight is heavier than 10.",
                "SELECT 2",
            ),
            ("How many crates have a greater weight than 10?", "SELECT 2"),
            (
                "What are the labels of crates that have a weight of 15?",
                "SELECT 'B'",
            ),
            (
                "What is the label of the crate with the longest distance?",
                "SELECT 'C'",
            ),
            (
                "What are the labels of crates shipped after the year 2004?",
                "SELECT 'B' UNION SELECT 'C'",
            ),
        ],
        &[],
    );
}

#[test]
fn what_is_counted_and_listed() {
    let host = Host::over(
        "CREATE TABLE coach (coach_id INTEGER PRIMARY KEY, name TEXT, years_of_work INTEGER, age INTEGER, town TEXT);
         CREATE TABLE drill (drill_id INTEGER PRIMARY KEY, title TEXT, coach_id INTEGER REFERENCES coach (coach_id),
             sort TEXT, pitch TEXT, minutes INTEGER);
         CREATE TABLE visit (visit_id INTEGER PRIMARY KEY, drill_id INTEGER REFERENCES drill (drill_id));
         INSERT INTO coach VALUES (1, 'Ana', 9, 60, 'Ulm'), (2, 'Ben', 12, 40, 'Ulm'), (3, 'Cat', 3, 20, 'Bonn');
         INSERT INTO drill VALUES (1, 'Sprint', 1, 'run', 'a', 30), (2, 'Relay', 2, 'run', 'b', 30),
             (3, 'Dive', 3, 'swim', 'b', 10);
         INSERT INTO visit VALUES (1, 1), (2, 1), (3, 3);",
        json!({}),
    );
    check(
        &host,
        &[
            ("How many drills in total?", "SELECT 3"),
            ("How many run drills are there?", "SELECT 2"),
            (
                "Show the names of coaches and the drills they teach.",
                "SELECT name, title FROM coach JOIN drill USING (coach_id)",
            ),
            (
                "List the names of coaches ordered by the number of years they have worked.",
                "SELECT name FROM coach",
            ),
            (
                "Show all drill ids and the number of visits using each drill.",
                "SELECT drill_id, count(*) FROM visit GROUP BY drill_id",
            ),
            (
                "Which towns have coaches that teach run drills?",
                "SELECT 'Ulm'",
            ),
            (
                "What are the minutes of the drill with the most minutes?",
                "SELECT 30",
            ),
            (
                "List all drill titles by coaches above the average age.",
                "SELECT 'Sprint'",
            ),
            (
                "What are the towns shared by coaches with years of work above 10 and below 10?",
                "SELECT 'Ulm'",
            ),
        ],
        &[
            "What is the number of different sorts and pitches?",
            "Find the kind of drill with the most visits.",
        ],
    );
}

#[test]
fn what_a_second_clause_adds() {
    let host = Host::over(
        "CREATE TABLE hostel (hostel_id INTEGER PRIMARY KEY, name TEXT, town TEXT, beds INTEGER, tongue TEXT);
         CREATE TABLE guest (guest_id INTEGER PRIMARY KEY, name TEXT, hostel_id INTEGER REFERENCES hostel (hostel_id),
             diet TEXT, date_booked TEXT);
         INSERT INTO hostel VALUES (1, 'Sun', 'Ulm', 10, 'Dutch'), (2, 'Moon', 'Bonn', 20, 'Latin'),
             (3, 'Star', 'Ulm', 30, 'Latin');
         INSERT INTO guest VALUES (1, 'Ann', 1, 'vegan', 'May'), (2, 'Bo', 1, 'kosher', 'May'),
             (3, 'Cy', 2, 'vegan', 'June');",
        json!({}),
    );
    check(
        &host,
        &[
            (
                "What is the average beds for hostels in the town of Ulm?",
                "SELECT 20",
            ),
            (
                "What are the names of hostels who have no guests?",
                "SELECT 'Star'",
            ),
            (
                "What are the names and beds of hostels that do not use Dutch?",
                "SELECT name, beds FROM hostel WHERE hostel_id > 1",
            ),
            (
                "Which hostel has the most guests? Show the name and hostel id.",
                "SELECT name, hostel_id FROM hostel WHERE hostel_id = 1",
            ),
            (
                "What are the names of hostels that are in Ulm but have not been booked by any guests?",
                "SELECT 'Star'",
            ),
        ],
        // Guests beside the vegan ones, or none that are vegan.
        &["What are the names of hostels that have guests with a diet other than vegan?"],
    );
}
