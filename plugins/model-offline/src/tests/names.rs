//! Names that fit one table or column only, words that add nothing, and lists that may mean two things.

use serde_json::json;

use super::foreign::check;
use super::host::Host;

fn club() -> Host {
    Host::over(
        "CREATE TABLE trainer (trainer_id INTEGER PRIMARY KEY, trainer_name TEXT);
         CREATE TABLE player (player_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, home_town TEXT,
             phone TEXT, age INTEGER, trainer_id INTEGER REFERENCES trainer (trainer_id));
         CREATE TABLE board_game (game_id INTEGER PRIMARY KEY, game_name TEXT, base_price INTEGER);
         CREATE TABLE plays_game (player_id INTEGER REFERENCES player (player_id),
             game_id INTEGER REFERENCES board_game (game_id), hours INTEGER);
         INSERT INTO trainer VALUES (1, 'Ola'), (2, 'Kim');
         INSERT INTO player VALUES (1, 'Una', 'Ek', 'Oslo', '11', 19, 1), (2, 'Per', 'Fox', 'Oslo', '22', 24, 1),
             (3, 'Rob', 'Gil', 'Oslo', '33', 21, 2), (4, 'Ann', 'Holm', 'Bergen', '44', 30, 2);
         INSERT INTO board_game VALUES (1, 'Chess', 20), (2, 'Go', 30), (3, 'Risk', 40);
         INSERT INTO plays_game VALUES (1, 1, 5), (1, 2, 7), (2, 1, 9), (3, 1, 2);",
        json!({}),
    )
}

#[test]
fn name_that_fits_one_table_or_column_is_clear() {
    check(
        &club(),
        &[
            // The other table of that name refers to this one.
            ("How many games are there?", "SELECT 3"),
            (
                "Show the names of games sorted by base price.",
                "SELECT game_name FROM board_game",
            ),
            (
                "What are the full names of the players?",
                "SELECT first_name, last_name FROM player",
            ),
            (
                "What are the phone numbers of players living in Oslo?",
                "SELECT phone FROM player WHERE home_town = 'Oslo'",
            ),
            (
                "What is the highest, lowest and average age of players?",
                "SELECT 30, 19, 23.5",
            ),
            (
                "Which home town is most common among the players?",
                "SELECT 'Oslo', 3",
            ),
            (
                "Show all information about each trainer.",
                "SELECT * FROM trainer",
            ),
        ],
        &[],
    );
}

#[test]
fn list_with_two_meanings_is_asked_back() {
    check(
        &club(),
        &[(
            "Show the different home towns of players.",
            "SELECT DISTINCT home_town FROM player",
        )],
        &[
            // Each once, or for each player.
            "Show the home towns of the players.",
            // Each player has one trainer.
            "Which players have two or more trainers?",
        ],
    );
}

#[test]
fn statement_of_the_answer_runs_last() {
    let answer = club().ask("What is the name of the game with the highest base price?");
    let last = answer.sql.last().map(String::as_str).unwrap_or_default();
    assert!(last.ends_with("LIMIT 1"), "{answer:#?}");
}
