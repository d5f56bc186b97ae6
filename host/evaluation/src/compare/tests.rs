use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Gold, Order, compare, rows};
use crate::cells::Rounding;

fn table(data: &Value) -> Vec<Vec<Value>> {
    serde_json::from_value(data.clone()).unwrap()
}

fn gold(data: &Value, order: Order) -> Gold {
    let data = table(data);
    Gold {
        columns: data.first().map_or(0, Vec::len),
        rows: rows(&data),
        order,
        roundings: Vec::new(),
    }
}

fn compared(gold: &Gold, answer: &Value) -> Result<(), String> {
    compare(gold, &rows(&table(answer)), 2, &[])
}

#[track_caller]
fn differs(gold: &Gold, answer: &Value, why: &str) {
    let error = compared(gold, answer).unwrap_err();
    assert!(error.contains(why), "{error}");
}

#[test]
fn rows_come_in_any_order_unless_it_counts() {
    let data = json!([["DE", 5], ["FR", 9]]);
    let turned = json!([["FR", 9], ["DE", 5]]);
    compared(&gold(&data, Order::Any), &turned).unwrap();
    differs(&gold(&data, Order::Exact), &turned, "another order");
}

#[test]
fn tied_rows_come_in_any_order() {
    let by_number = gold(
        &json!([["DE", 9], ["FR", 9], ["PL", 1]]),
        Order::By(vec![1]),
    );
    compared(&by_number, &json!([["FR", 9], ["DE", 9], ["PL", 1]])).unwrap();
    differs(
        &by_number,
        &json!([["PL", 1], ["FR", 9], ["DE", 9]]),
        "another order",
    );
}

#[test]
fn columns_are_found_by_their_values() {
    let gold = gold(&json!([["DE", 5], ["FR", 9]]), Order::Any);
    compared(&gold, &json!([[1, 5, "DE"], [2, 9, "FR"]])).unwrap();
    differs(&gold, &json!([[5, "FR"], [9, "DE"]]), "other rows");
    differs(&gold, &json!([["DE"], ["FR"]]), "1 columns, not 2");
    differs(&gold, &json!([["DE", 6], ["FR", 9]]), "column 2 (5, 9)");
    differs(
        &gold,
        &json!([["DE", 5, 0, 0, 0], ["FR", 9, 0, 0, 0]]),
        "5 columns",
    );
}

#[test]
fn extra_columns_are_no_other_figures() {
    let gold = gold(&json!([[5]]), Order::Any);
    let compared =
        |answer: &Value, figures: &[usize]| compare(&gold, &rows(&table(answer)), 2, figures);
    assert_eq!(compared(&json!([["DE", 5, 9]]), &[]), Ok(()));
    assert_eq!(compared(&json!([["DE", 5, 9]]), &[1]), Ok(()));
    assert_eq!(
        compared(&json!([["DE", 5, 9]]), &[1, 2]),
        Err("column 3 is a figure that was not asked for".to_owned())
    );
    // Neither a text nor the same figure again is another one.
    assert_eq!(compared(&json!([[5, "2024-01-02"]]), &[0, 1]), Ok(()));
    assert_eq!(compared(&json!([[5, 5]]), &[1]), Ok(()));
    assert_eq!(compared(&json!([[5, 5]]), &[0, 1]), Ok(()));
    assert_eq!(compared(&json!([[5, 5, 5]]), &[0, 1, 2]), Ok(()));
    assert_eq!(
        compared(&json!([[5, 5, 9]]), &[0, 1, 2]),
        Err("column 3 is a figure that was not asked for".to_owned())
    );
}

#[test]
fn repeated_figure_has_its_values_in_the_same_rows() {
    let gold = gold(&json!([["DE", 5], ["FR", 9]]), Order::Any);
    let compared = |answer: &Value| compare(&gold, &rows(&table(answer)), 2, &[1, 2]);
    assert_eq!(compared(&json!([["FR", 9, 9], ["DE", 5, 5]])), Ok(()));
    assert_eq!(
        compared(&json!([["DE", 5, 9], ["FR", 9, 5]])),
        Err("column 3 is a figure that was not asked for".to_owned())
    );
}

#[test]
fn rounded_figure_repeats_the_one_it_is_rounded_from() {
    let gold = Gold {
        roundings: vec![Rounding::To(2)],
        ..gold(&json!([[12.35]]), Order::Any)
    };
    for answer in [json!([[12.3456, 12.35]]), json!([[12.35, 12.3456]])] {
        assert_eq!(
            compare(&gold, &rows(&table(&answer)), 2, &[0, 1]),
            Ok(()),
            "{answer}"
        );
    }
}

#[test]
fn only_the_rounded_column_is_compared_loosely() {
    let gold = Gold {
        roundings: vec![Rounding::To(1), Rounding::None],
        ..gold(&json!([[12.3, 4.5]]), Order::Any)
    };
    compared(&gold, &json!([[12.345, 4.5]])).unwrap();
    differs(&gold, &json!([[12.3, 4.52]]), "column 2 (4.5)");
}

#[test]
fn wide_results_with_columns_that_are_alike_are_compared_in_bounded_steps() {
    const ROWS: usize = 1_024;
    // Each column has the same values, in another order.
    let row = |row: usize| (0..200).map(move |column| json!(row * (2 * column + 1) % ROWS));
    let data: Vec<Vec<Value>> = (0..ROWS).map(|at| row(at).collect()).collect();
    let gold = any_order(&data);
    let mut turned = data.clone();
    turned.reverse();
    assert_eq!(compare(&gold, &rows(&turned), 2, &[]), Ok(()));
    let swapped = turned[0][100].clone();
    turned[0][100] = turned[1][100].clone();
    turned[1][100] = swapped;
    assert_eq!(
        compare(&gold, &rows(&turned), 2, &[]),
        Err("the same values in each column, but too many columns that are alike".to_owned())
    );
    let equal = vec![vec![json!("x"); 200]; ROWS];
    assert_eq!(compare(&any_order(&equal), &rows(&equal), 2, &[]), Ok(()));
}

#[test]
fn one_column_does_not_stand_for_two() {
    let twice = gold(&json!([[1, 1], [2, 2]]), Order::Any);
    compared(&twice, &json!([[1, 1], [2, 2]])).unwrap();
    differs(&twice, &json!([[1, 7], [2, 8]]), "other rows");
}

#[test]
fn rows_count_as_often_as_they_come() {
    let gold = gold(&json!([["a"], ["a"], ["b"]]), Order::Any);
    differs(&gold, &json!([["a"], ["b"], ["b"]]), "no column");
    differs(&gold, &json!([["a"], ["b"]]), "2 rows, not 3");
}

#[test]
fn empty_results_are_the_same() {
    let empty = Gold {
        columns: 3,
        ..gold(&json!([]), Order::Any)
    };
    compared(&empty, &json!([])).unwrap();
    differs(&empty, &json!([[1]]), "1 rows, not 0");
}

#[test]
fn numbers_within_the_tolerance_are_matched_in_any_order() {
    let gold = gold(&json!([[1.000_000_1, 2], [1.000_000_2, 1]]), Order::Any);
    compared(&gold, &json!([[1.000_000_3, 1], [1.000_000_1, 2]])).unwrap();
    differs(&gold, &json!([[1.000_1, 1], [1.000_000_1, 2]]), "no column");
}

fn cell() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        (-3_i64..3).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-300_i32..300).prop_map(|cents| json!(f64::from(cents) / 100.0)),
        "[ab]{0,2}".prop_map(Value::from),
        Just(json!("2024-01-02T03:04:05")),
        any::<bool>().prop_map(Value::from),
    ]
}

/// A result of one to five columns and up to thirty rows.
fn result() -> impl Strategy<Value = Vec<Vec<Value>>> {
    (1..5_usize)
        .prop_flat_map(|width| prop::collection::vec(prop::collection::vec(cell(), width), 1..30))
}

fn any_order(data: &[Vec<Value>]) -> Gold {
    gold(&json!(data), Order::Any)
}

fn turned(data: &[Vec<Value>], columns: &[usize]) -> Vec<Vec<Value>> {
    let row = |row: &Vec<Value>| columns.iter().map(|at| row[*at].clone()).collect();
    data.iter().map(row).collect()
}

proptest! {
    #[test]
    fn permuted_rows_and_columns_are_the_same(
        (data, shuffled) in result().prop_flat_map(|data| (Just(data.clone()), Just(data).prop_shuffle())),
        seed in any::<u64>(),
    ) {
        let width = data[0].len();
        let mut columns: Vec<usize> = (0..width).collect();
        columns.rotate_left(seed as usize % width);
        if seed % 2 == 0 {
            columns.reverse();
        }
        let answer = rows(&turned(&shuffled, &columns));
        prop_assert_eq!(compare(&any_order(&data), &answer, 0, &[]), Ok(()));
    }

    #[test]
    fn extra_columns_are_accepted_up_to_the_limit(data in result(), extra in prop::collection::vec(cell(), 3)) {
        let wider = |count: usize| {
            let row = |row: &Vec<Value>| row.iter().chain(&extra[..count]).cloned().collect();
            rows(&data.iter().map(row).collect::<Vec<_>>())
        };
        prop_assert_eq!(compare(&any_order(&data), &wider(2), 2, &[]), Ok(()));
        prop_assert!(compare(&any_order(&data), &wider(3), 2, &[]).is_err());
    }

    #[test]
    fn a_changed_cell_makes_another_result(data in result(), at in any::<prop::sample::Index>()) {
        let mut changed = data.clone();
        let row = at.index(changed.len());
        let column = at.index(changed[row].len());
        // A value that no cell has.
        changed[row][column] = json!("changed");
        prop_assert!(compare(&any_order(&data), &rows(&changed), 0, &[]).is_err());
        prop_assert!(compare(&any_order(&changed), &rows(&data), 0, &[]).is_err());
    }

    #[test]
    fn a_missing_row_makes_another_result(data in result()) {
        prop_assert!(compare(&any_order(&data), &rows(&data[1..]), 2, &[]).is_err());
    }

    #[test]
    fn exact_order_accepts_only_itself(data in result(), by in 1..5_usize) {
        let exact = Gold { order: Order::Exact, ..any_order(&data) };
        prop_assert_eq!(compare(&exact, &rows(&data), 0, &[]), Ok(()));
        let mut rotated = data.clone();
        rotated.rotate_left(by % data.len());
        let is_same = turned(&rotated, &[0]) == turned(&data, &[0]);
        if !is_same && data[0].len() == 1 {
            let alike = rows(&rotated).iter().zip(&exact.rows).all(|(one, other)| one == other);
            prop_assert_eq!(compare(&exact, &rows(&rotated), 0, &[]).is_ok(), alike);
        }
    }
}
