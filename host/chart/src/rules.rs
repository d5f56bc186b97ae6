//! The rules: which chart fits the shape of a result.

use std::collections::HashSet;

use super::{
    Table,
    fields::{Field, Role, label, words},
};

/// More bars than this are not read but searched.
const MAX_BARS: usize = 60;
/// More colours than this are not told apart.
const MAX_COLOURS: usize = 10;
/// More measures than this are left out.
const MAX_MEASURES: usize = 4;
/// Fewer numbers than this have no distribution to see.
const MIN_DISTRIBUTION: usize = 20;

/// The chosen chart.
#[derive(Clone, Debug)]
pub struct Choice {
    /// What is drawn.
    pub form: Form,
    /// The columns that it shows.
    pub fields: Vec<Field>,
    /// How many rows the result has.
    pub rows: usize,
    /// Whether the order of the rows is that of an ORDER BY.
    pub is_ordered: bool,
    /// Why, in a sentence.
    pub reason: String,
}

/// A form, with the places of its columns among the fields of the choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Measures over time, one chart for each; with `series` one measure as a line for each category.
    Line {
        /// The moments.
        time: usize,
        /// The categories.
        series: Option<usize>,
        /// The measures.
        measures: Vec<usize>,
    },
    /// Measures by category, one chart for each.
    Bar {
        /// The categories.
        category: usize,
        /// The measures.
        measures: Vec<usize>,
    },
    /// One measure by two categories.
    Bars {
        /// The categories on the axis.
        category: usize,
        /// The categories by colour.
        series: usize,
        /// The measure.
        measure: usize,
        /// Whether the bars of a category stand on one another. They do if their sum says something.
        stacked: bool,
    },
    /// One measure by two long categories, as colours in a grid.
    Grid {
        /// Across.
        x: usize,
        /// Down.
        y: usize,
        /// The measure.
        measure: usize,
    },
    /// One measure against another.
    Point {
        /// Across.
        x: usize,
        /// Up.
        y: usize,
        /// The categories by colour.
        series: Option<usize>,
    },
    /// How often one measure has which values.
    Histogram {
        /// The measure.
        measure: usize,
    },
}

/// The columns of a result, by what they are.
struct Shape {
    fields: Vec<Field>,
    times: Vec<usize>,
    categories: Vec<usize>,
    keys: Vec<usize>,
    measures: Vec<usize>,
    /// The columns whose sum says nothing, by the statement.
    unsummable: Vec<usize>,
    rows: usize,
}

/// Chooses a chart for a whole result.
///
/// # Errors
/// Why none fits.
pub fn choose(table: Table<'_>) -> Result<Choice, String> {
    match table.rows.len() {
        0 => return Err("The result has no rows.".to_owned()),
        1 => return Err("The result is one row, which is best read as it is.".to_owned()),
        _ => {}
    }
    let shape = Shape::of(table);
    let (form, reason) = shape.form()?;
    Ok(Choice {
        form,
        fields: shape.fields,
        rows: shape.rows,
        is_ordered: table.is_ordered,
        reason,
    })
}

impl Shape {
    fn of(table: Table<'_>) -> Self {
        let columns = table.columns.iter().enumerate();
        let fields: Vec<Field> = columns
            .map(|(index, column)| Field::of(index, column, table.rows))
            .collect();
        let of = |wanted: &dyn Fn(&Field) -> bool| {
            let places = fields.iter().enumerate();
            let places = places.filter(|(_, field)| wanted(field));
            places.map(|(place, _)| place).collect::<Vec<_>>()
        };
        // A column that is the same in each row tells nothing apart.
        let times = of(&|field| {
            matches!(field.role, Role::Time(_)) && field.distinct > 1 && field.is_complete()
        });
        let categories = of(&|field| {
            matches!(field.role, Role::Category | Role::Ordinal)
                && field.distinct > 1
                && field.is_complete()
        });
        let keys = of(&|field| field.role == Role::Key && field.distinct > 1);
        let mut measures = of(&|field| field.role == Role::Measure);
        measures.truncate(MAX_MEASURES);
        let unsummable = table.unsummable.iter().enumerate();
        let unsummable = unsummable.filter(|(_, is_one)| **is_one);
        Self {
            rows: table.rows.len(),
            times,
            categories,
            keys,
            measures,
            unsummable: unsummable.map(|(place, _)| place).collect(),
            fields,
        }
    }

    fn form(&self) -> Result<(Form, String), String> {
        if self.measures.is_empty() {
            return Err("No column holds a number to compare.".to_owned());
        }
        if let Some(time) = self.unique(&self.times) {
            return Ok(self.line(time));
        }
        if let Some(category) = self.unique(&self.categories) {
            return self.bar(category);
        }
        if let Some(found) = self.pair() {
            return found;
        }
        if let (1, Some(key)) = (self.measures.len(), self.unique(&self.keys))
            && self.times.is_empty()
            && self.categories.is_empty()
        {
            return self.bar(key);
        }
        self.cloud()
    }

    /// The first of these columns that differs in each row.
    fn unique(&self, places: &[usize]) -> Option<usize> {
        let mut places = places.iter().copied();
        places.find(|place| self.fields[*place].distinct == self.rows)
    }

    fn title(&self, place: usize) -> &str {
        &self.fields[place].title
    }

    fn line(&self, time: usize) -> (Form, String) {
        let reason = match self.measures[..] {
            [measure] => format!("{} over {}: a line.", self.title(measure), self.title(time)),
            _ => format!(
                "{} measures over {}: a line each, with a scale of its own.",
                self.measures.len(),
                self.title(time)
            ),
        };
        let form = Form::Line {
            time,
            series: None,
            measures: self.measures.clone(),
        };
        (form, reason)
    }

    fn bar(&self, category: usize) -> Result<(Form, String), String> {
        if self.rows > MAX_BARS && self.measures.len() > 1 {
            return self.cloud();
        }
        if self.rows > MAX_BARS {
            return Err(format!(
                "{} bars are too many to read. Ask for the greatest {MAX_BARS}, or group the rows.",
                self.rows
            ));
        }
        let each = format!(
            "a bar for each of the {} values of {}",
            self.rows,
            self.title(category)
        );
        let reason = match self.measures[..] {
            [measure] if self.is_share(measure) => format!(
                "Shares of a whole: {each}, because lengths are compared more exactly than slices of a pie."
            ),
            [_] => format!("One measure by category: {each}."),
            _ => format!(
                "{} measures by category: {each}, in a chart for each measure.",
                self.measures.len()
            ),
        };
        let measures = self.measures.clone();
        Ok((Form::Bar { category, measures }, reason))
    }

    /// Whether the few values of a measure make up 1 or 100.
    fn is_share(&self, measure: usize) -> bool {
        let values = &self.fields[measure].values;
        let parts: Vec<f64> = values
            .iter()
            .filter_map(serde_json::Value::as_f64)
            .collect();
        let sum: f64 = parts.iter().sum();
        // A value that is missing, NaN or infinite is no share, and one value alone is no part of anything.
        self.rows <= 6
            && parts.len() > 1
            && parts.len() == values.len()
            && parts.iter().all(|one| *one >= 0.0)
            && ((sum - 1.0).abs() < 0.01 || (sum - 100.0).abs() < 1.0)
    }

    /// A chart over two columns that together differ in each row.
    fn pair(&self) -> Option<Result<(Form, String), String>> {
        for (at, &first) in self.times.iter().chain(&self.categories).enumerate() {
            let rest = self.times.iter().chain(&self.categories).skip(at + 1);
            let mut seconds = rest.filter(|second| self.categories.contains(second));
            if let Some(&second) = seconds.find(|second| self.is_unique_pair(first, **second)) {
                return Some(match self.times.contains(&first) {
                    true => self.lines(first, second),
                    false => self.bars(first, second),
                });
            }
        }
        None
    }

    fn is_unique_pair(&self, first: usize, second: usize) -> bool {
        let (first, second) = (&self.fields[first].values, &self.fields[second].values);
        let pairs = first.iter().zip(second);
        let different: HashSet<_> = pairs.map(|(one, two)| (label(one), label(two))).collect();
        different.len() == self.rows
    }

    fn lines(&self, time: usize, series: usize) -> Result<(Form, String), String> {
        let measure = self.measures[0];
        let count = self.fields[series].distinct;
        if count > MAX_COLOURS {
            return Err(format!(
                "{count} lines, one for each value of {}, cannot be told apart. Ask for the greatest {MAX_COLOURS}.",
                self.title(series)
            ));
        }
        let reason = format!(
            "{} over {}: a line for each of the {count} values of {}.{}",
            self.title(measure),
            self.title(time),
            self.title(series),
            self.only(measure)
        );
        let (series, measures) = (Some(series), vec![measure]);
        Ok((
            Form::Line {
                time,
                series,
                measures,
            },
            reason,
        ))
    }

    fn bars(&self, first: usize, second: usize) -> Result<(Form, String), String> {
        let measure = self.measures[0];
        let (category, series) = match self.fields[first].distinct >= self.fields[second].distinct {
            true => (first, second),
            false => (second, first),
        };
        let (long, short) = (self.fields[category].distinct, self.fields[series].distinct);
        if long > MAX_BARS {
            return Err(format!(
                "{long} values of {} are too many to read. Ask for the greatest {MAX_BARS}.",
                self.title(category)
            ));
        }
        let of = format!(
            "{} by {} and {}",
            self.title(measure),
            self.title(category),
            self.title(series)
        );
        let only = self.only(measure);
        if short > MAX_COLOURS {
            let (x, y) = (series, category);
            return Ok((
                Form::Grid { x, y, measure },
                format!("{of}: a grid of {long} by {short}.{only}"),
            ));
        }
        let stacked = self.adds_up(measure);
        let reason = match stacked {
            true => format!("{of}: bars on one another, because their sum is a figure too.{only}"),
            false => format!("{of}: bars beside one another.{only}"),
        };
        Ok((
            Form::Bars {
                category,
                series,
                measure,
                stacked,
            },
            reason,
        ))
    }

    /// Whether the sum of a measure says something, as that of counts does and that of averages does not. A name alone
    /// does not tell: an average may be called `revenue`.
    fn adds_up(&self, measure: usize) -> bool {
        const SUMS: &[&str] = &[
            "count", "sum", "total", "number", "revenue", "amount", "quantity", "units", "orders",
        ];
        const OTHERS: &[&str] = &[
            "avg",
            "average",
            "mean",
            "median",
            "max",
            "maximum",
            "highest",
            "min",
            "minimum",
            "lowest",
            "share",
            "percent",
            "percentage",
            "ratio",
            "rate",
            "per",
            "distinct",
            "unique",
            "different",
            "running",
            "cumulative",
        ];
        // Whole words: a discount is no count.
        let words = words(self.title(measure));
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        has(SUMS)
            && !has(OTHERS)
            && !self.unsummable.contains(&measure)
            && self.fields[measure]
                .range()
                .is_some_and(|(least, _)| least >= 0.0)
    }

    fn only(&self, measure: usize) -> String {
        match self.measures.len() {
            1 => String::new(),
            _ => format!(" Of the measures only {} is drawn.", self.title(measure)),
        }
    }

    /// Charts of single rows, which nothing names.
    fn cloud(&self) -> Result<(Form, String), String> {
        if let [x, y, ..] = self.measures[..] {
            let mut series = self.categories.iter().copied();
            let series = series.find(|place| self.fields[*place].distinct <= MAX_COLOURS);
            let reason = format!(
                "{} against {}: a point for each row.",
                self.title(y),
                self.title(x)
            );
            return Ok((Form::Point { x, y, series }, reason));
        }
        let measure = self.measures[0];
        let is_alone = self.times.is_empty() && self.categories.is_empty();
        let is_spread = self.fields[measure]
            .range()
            .is_some_and(|(least, most)| least < most);
        if is_alone && is_spread && self.rows >= MIN_DISTRIBUTION {
            let reason = format!(
                "One measure alone: how often {} has which values.",
                self.title(measure)
            );
            return Ok((Form::Histogram { measure }, reason));
        }
        if is_alone {
            return Err(
                "No column names the rows, so there is nothing to compare them by.".to_owned(),
            );
        }
        Err(
            "Several rows share the same names, so a bar or line would hide some. Group the rows."
                .to_owned(),
        )
    }
}
