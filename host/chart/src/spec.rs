//! A chosen chart as a Vega-Lite specification, version 6.

use serde_json::{Map, Value, json};

use super::{
    fields::{Field, Grain, Role},
    rules::{Choice, Form},
};

const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v6.json";
/// More bars, or longer names, lie down.
const UPRIGHT_BARS: usize = 8;
const UPRIGHT_CHARACTERS: usize = 12;
/// More points than this hide the line.
const DOTS: usize = 60;

/// Writes the specification.
pub fn write(choice: &Choice) -> Value {
    match &choice.form {
        Form::Line {
            time,
            series,
            measures,
        } => line(choice, *time, *series, measures),
        Form::Bar { category, measures } => bar(choice, *category, measures),
        Form::Bars {
            category,
            series,
            measure,
            stacked,
        } => bars(choice, [*category, *series, *measure], *stacked),
        Form::Grid { x, y, measure } => grid(choice, [*x, *y, *measure]),
        Form::Point { x, y, series } => point(choice, *x, *y, *series),
        Form::Histogram { measure } => histogram(choice, *measure),
    }
}

fn line(choice: &Choice, time: usize, series: Option<usize>, measures: &[usize]) -> Value {
    let x = &choice.fields[time];
    let mark = json!({"type": "line", "point": choice.rows <= DOTS, "tooltip": true});
    if let [measure] = measures {
        let mut shown = vec![time, *measure];
        shown.extend(series);
        let mut encoding = json!({"x": moment(x), "y": quantity(&choice.fields[*measure])});
        if let Some(series) = series {
            encoding["color"] = category(&choice.fields[series]);
        }
        let parts = [mark, encoding];
        return whole(choice, "Line chart", &shown, rows(choice, &shown), parts);
    }
    let parts = [
        mark,
        json!({"x": moment(x), "y": each(), "row": measure_of()}),
    ];
    let mut spec = whole(
        choice,
        "Line charts",
        &[&[time], measures].concat(),
        long(choice, time, measures),
        parts,
    );
    spec["resolve"] = json!({"scale": {"y": "independent"}});
    spec
}

fn bar(choice: &Choice, by: usize, measures: &[usize]) -> Value {
    let field = &choice.fields[by];
    let lies = field.distinct > UPRIGHT_BARS || field.longest > UPRIGHT_CHARACTERS;
    let (names, lengths) = if lies { ("y", "x") } else { ("x", "y") };
    let mut axis = category(field);
    if field.role != Role::Ordinal {
        axis["sort"] = match choice.is_ordered || measures.len() > 1 {
            true => Value::Null,
            false => json!(format!("-{lengths}")),
        };
    }
    let mark = json!({"type": "bar", "tooltip": true});
    if let [measure] = measures {
        let mut encoding = Map::new();
        encoding.insert(names.to_owned(), axis);
        encoding.insert(lengths.to_owned(), quantity(&choice.fields[*measure]));
        let shown = [by, *measure];
        return whole(
            choice,
            "Bar chart",
            &shown,
            rows(choice, &shown),
            [mark, encoding.into()],
        );
    }
    let mut encoding = Map::new();
    encoding.insert(names.to_owned(), axis);
    encoding.insert(lengths.to_owned(), each());
    encoding.insert(if lies { "column" } else { "row" }.to_owned(), measure_of());
    let data = long(choice, by, measures);
    let mut spec = whole(
        choice,
        "Bar charts",
        &[&[by], measures].concat(),
        data,
        [mark, encoding.into()],
    );
    let mut scale = Map::new();
    scale.insert(lengths.to_owned(), json!("independent"));
    spec["resolve"] = json!({"scale": scale});
    spec
}

fn bars(choice: &Choice, shown: [usize; 3], stacked: bool) -> Value {
    let [by, series, measure] = shown.map(|place| &choice.fields[place]);
    let lies = by.distinct > UPRIGHT_BARS || by.longest > UPRIGHT_CHARACTERS;
    let (names, lengths) = if lies { ("y", "x") } else { ("x", "y") };
    let mut length = quantity(measure);
    let mut axis = category(by);
    if by.role != Role::Ordinal {
        axis["sort"] = Value::Null;
    }
    let mut encoding = Map::new();
    encoding.insert(names.to_owned(), axis);
    if stacked {
        length["stack"] = json!("zero");
    } else {
        length["stack"] = Value::Null;
        encoding.insert(
            format!("{names}Offset"),
            json!({"field": series.name, "type": kind(series)}),
        );
    }
    encoding.insert(lengths.to_owned(), length);
    encoding.insert("color".to_owned(), category(series));
    let parts = [json!({"type": "bar", "tooltip": true}), encoding.into()];
    whole(choice, "Bar chart", &shown, rows(choice, &shown), parts)
}

fn grid(choice: &Choice, shown: [usize; 3]) -> Value {
    let [x, y, measure] = shown.map(|place| &choice.fields[place]);
    let encoding = json!({"x": category(x), "y": category(y), "color": quantity(measure)});
    let parts = [json!({"type": "rect", "tooltip": true}), encoding];
    whole(choice, "Grid", &shown, rows(choice, &shown), parts)
}

fn point(choice: &Choice, x: usize, y: usize, series: Option<usize>) -> Value {
    let mut shown = vec![x, y];
    shown.extend(series);
    let mut encoding = json!({"x": quantity(&choice.fields[x]), "y": quantity(&choice.fields[y])});
    for axis in ["x", "y"] {
        encoding[axis]["scale"] = json!({"zero": false});
    }
    if let Some(series) = series {
        encoding["color"] = category(&choice.fields[series]);
    }
    let parts = [json!({"type": "point", "tooltip": true}), encoding];
    whole(choice, "Scatter plot", &shown, rows(choice, &shown), parts)
}

fn histogram(choice: &Choice, measure: usize) -> Value {
    let mut x = quantity(&choice.fields[measure]);
    x["bin"] = json!({"maxbins": 20});
    let encoding =
        json!({"x": x, "y": {"aggregate": "count", "type": "quantitative", "title": "rows"}});
    let parts = [json!({"type": "bar", "tooltip": true}), encoding];
    whole(
        choice,
        "Histogram",
        &[measure],
        rows(choice, &[measure]),
        parts,
    )
}

/// The parts of each specification. `shown` are the columns: the names first, the measures last but for a series.
fn whole(
    choice: &Choice,
    kind: &str,
    shown: &[usize],
    values: Vec<Value>,
    parts: [Value; 2],
) -> Value {
    let [mark, encoding] = parts;
    let titled = |is_measure: bool| {
        let fields = shown.iter().map(|place| &choice.fields[*place]);
        let titles = fields.filter(|field| (field.role == Role::Measure) == is_measure);
        titles.map(|field| field.title.as_str()).collect::<Vec<_>>()
    };
    let (measures, names) = (titled(true).join(", "), titled(false).join(" and "));
    let title = match names.is_empty() {
        true => measures,
        false => format!("{measures} by {names}"),
    };
    let mut data = json!({"values": values});
    let times = shown.iter().map(|place| &choice.fields[*place]);
    let times = times.filter(|field| matches!(field.role, Role::Time(_)));
    let parsed: Map<String, Value> = times
        .map(|field| (field.name.clone(), json!("date")))
        .collect();
    if !parsed.is_empty() {
        data["format"] = json!({"type": "json", "parse": parsed});
    }
    json!({
        "$schema": SCHEMA,
        "title": title,
        "description": format!("{kind} of {} rows: {title}", choice.rows),
        "data": data,
        "mark": mark,
        "encoding": encoding,
    })
}

/// A row for each row of the result, with the columns that are shown.
fn rows(choice: &Choice, shown: &[usize]) -> Vec<Value> {
    let row = |row: usize| {
        let fields = shown.iter().map(|place| &choice.fields[*place]);
        let cells = fields.map(|field| (field.name.clone(), field.values[row].clone()));
        Value::Object(cells.collect())
    };
    (0..choice.rows).map(row).collect()
}

/// A row for each measure of each row of the result.
fn long(choice: &Choice, by: usize, measures: &[usize]) -> Vec<Value> {
    let by = &choice.fields[by];
    let row = |row: usize, measure: &usize| {
        let field = &choice.fields[*measure];
        // Two measures of one name stay apart.
        let is_named = |other: &&usize| choice.fields[**other].title == field.title;
        let title = match measures.iter().filter(is_named).count() {
            1 => field.title.clone(),
            _ => format!("{} ({})", field.title, field.name.replace('_', " ")),
        };
        json!({(by.name.as_str()): by.values[row], "measure": title, "value": field.values[row]})
    };
    let all = (0..choice.rows).flat_map(|at| measures.iter().map(move |measure| row(at, measure)));
    all.collect()
}

fn moment(field: &Field) -> Value {
    let mut channel = json!({
        "field": field.name, "type": "temporal", "title": field.title, "scale": {"type": "utc"},
    });
    if let Some(format) = match field.role {
        Role::Time(Grain::Year) => Some("%Y"),
        Role::Time(Grain::Month) => Some("%b %Y"),
        _ => None,
    } {
        channel["axis"] = json!({"format": format});
    }
    channel
}

fn quantity(field: &Field) -> Value {
    json!({"field": field.name, "type": "quantitative", "title": field.title})
}

fn category(field: &Field) -> Value {
    json!({"field": field.name, "type": kind(field), "title": field.title})
}

fn kind(field: &Field) -> &'static str {
    match field.role {
        Role::Ordinal => "ordinal",
        _ => "nominal",
    }
}

/// The values of several measures, which `measure_of` tells apart.
fn each() -> Value {
    json!({"field": "value", "type": "quantitative", "title": null})
}

fn measure_of() -> Value {
    json!({"field": "measure", "type": "nominal", "title": null})
}
