//! Keys that a join has found, as conditions of a statement and of the groups in it.

use super::{
    super::expressions::Value,
    Select,
    clauses::{Condition, Entry},
};

impl Select {
    /// With conditions that `about` makes of the columns of what is open for them. Engines do not carry such conditions
    /// on into groups that are joined by their keys and would compute all of them, so they are put there too.
    pub fn with_conditions(
        mut self,
        mut about: impl FnMut(&[Option<Value>]) -> Vec<String>,
    ) -> Self {
        let columns: Vec<_> = self.columns.iter().cloned().map(Some).collect();
        let conditions = about(&columns);
        narrow(&mut self.from, &self.columns, &self.equal, &mut about);
        for condition in &mut self.conditions {
            if let Condition::Exists { select, equal, .. } = condition {
                let equal = [self.equal.as_slice(), equal, &select.equal].concat();
                narrow(&mut select.from, &self.columns, &equal, &mut about);
            }
        }
        let conditions = conditions.into_iter().map(Condition::Text);
        self.conditions.extend(conditions);
        self
    }

    /// What a column of the statement around these groups is within them, if it is equal to one of their keys. `name`
    /// is what that statement calls them.
    fn key(&self, name: &str, column: &Value, equal: &[(Value, Value)]) -> Option<Value> {
        let keys = self.groups.as_ref()?;
        let is_equal = |a: &str, b: &str| {
            let pairs = equal.iter();
            let mut pairs = pairs.map(|(one, other)| (one.sql.as_str(), other.sql.as_str()));
            a == b || pairs.any(|pair| pair == (a, b) || pair == (b, a))
        };
        let mut own = self.columns.iter().enumerate().filter(|(_, value)| {
            // Texts are grouped by their bytes, in another form.
            keys.contains(&value.sql) && value.kind == column.kind && !value.kind.is_text()
        });
        let found = own.find(|(index, _)| {
            let outside = format!("{name}.{}", self.alias(*index));
            is_equal(&column.sql, &outside)
        });
        found.map(|(_, value)| value.clone())
    }
}

/// Puts conditions on these columns into the groups among the entries.
fn narrow(
    from: &mut [Entry],
    columns: &[Value],
    equal: &[(Value, Value)],
    about: &mut impl FnMut(&[Option<Value>]) -> Vec<String>,
) {
    for entry in from {
        if let Entry::Groups(groups, name) = entry {
            let keys = columns.iter().map(|column| groups.key(name, column, equal));
            let keys: Vec<_> = keys.collect();
            if keys.iter().any(Option::is_some) {
                let conditions = about(&keys).into_iter().map(Condition::Text);
                groups.conditions.extend(conditions);
            }
        }
    }
}
