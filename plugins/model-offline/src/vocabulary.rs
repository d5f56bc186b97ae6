//! The words that have a meaning of their own, whatever the catalog holds.

use crate::phrases::PHRASES;
use crate::words::Token;

/// A function over the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// Total.
    Sum,
    /// Mean.
    Average,
    /// Smallest.
    Min,
    /// Largest.
    Max,
}

/// How a column is compared with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `=`
    Equal,
}

/// Where a text must be found in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchPosition {
    /// Anywhere.
    Inside,
    /// At the start of the value.
    Start,
    /// At the end of the value.
    End,
}

/// A word or phrase with a meaning of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// "how many"
    Count,
    /// "how much": a total of what follows.
    HowMuch,
    /// "average"
    Aggregate(Aggregate),
    /// "different"
    Distinct,
    /// "by": a group, or the measure of a ranking.
    By,
    /// "per", "for each": a group.
    Each,
    /// "sorted by": the order of rows or groups follows.
    SortedBy,
    /// "top" and "bottom": a ranking by the figure that is worked out.
    Top(bool),
    /// "first" and "last": rows, or the ends of a time.
    First(bool),
    /// "most", "highest" and their opposites.
    Most(bool),
    /// "latest" and "oldest".
    Recent(bool),
    /// "most expensive", "cheapest": a ranking by a price.
    Priced(bool),
    /// "most common": a ranking by how many there are of what follows.
    Common,
    /// "best selling": a ranking by the pieces sold.
    BestSelling,
    /// "best rated" and "worst rated".
    Rated(bool),
    /// "more than"; true where a price is meant ("cheaper than").
    Compare(Comparison, bool),
    /// "between": two numbers follow, both included.
    Between,
    /// "show"
    List,
    /// "rows": rows are asked for, or counted after "how many".
    Rows,
    /// "not", "except": turns the next condition round.
    Not,
    /// "without", "never": no row of the next table refers to the row, or the next column is empty.
    Without,
    /// "with": a condition or a part of the subject follows.
    With,
    /// "and", a comma
    And,
    /// "or": more values or groups follow, as with `And`.
    Or,
    /// "when": a date is asked for.
    When,
    /// "sold", "bought": only things that were sold count.
    Sold,
    /// "units sold": the sum of the quantities.
    Units,
    /// "revenue", "sales": the sum of amounts, or of quantities times prices.
    Revenue,
    /// "containing"
    Like(MatchPosition),
    /// "missing", "empty": the column before it has no value.
    Empty,
    /// A currency; it must agree with the catalog.
    Currency(&'static str),
    /// "new": rows of the period that the question names.
    New,
    /// "descending" and "ascending".
    Direction(bool),
}

/// The longest phrase that starts at `at`: the number of its tokens, and its meaning.
pub fn operator(tokens: &[Token], at: usize) -> Option<(usize, Operator)> {
    let fits = |phrase: &str| {
        let mut used = 0;
        phrase
            .split(' ')
            .all(|word| {
                used += 1;
                tokens.get(at + used - 1).is_some_and(|t| t.norm == word)
            })
            .then_some(used)
    };
    PHRASES
        .iter()
        .flat_map(|(op, phrases)| phrases.iter().map(move |phrase| (phrase, *op)))
        .filter_map(|(phrase, op)| Some((fits(phrase)?, op)))
        .max_by_key(|(used, _)| *used)
}

/// Words that carry no meaning of their own in a question about data.
pub fn is_filler(norm: &str) -> bool {
    #[rustfmt::skip]
    const FILLERS: &[&str] = &[
        "a", "an", "the", "of", "in", "for", "from", "to", "at", "on", "into", "among", "within", "out", "have",
        "has", "had", "having", "do", "does", "did", "done", "is", "are", "was", "were", "be", "been", "being",
        "there", "we", "our", "us", "me", "my", "i", "you", "your", "it", "its", "they", "their", "them", "please",
        "can", "could", "would", "will", "tell", "give", "get", "find", "see", "want", "need", "know", "let", "what",
        "which", "who", "whose", "whom", "where", "how", "that", "this", "these", "those", "all", "any", "as", "than",
        "so", "far", "currently", "now", "right", "exist", "exists", "about", "data", "database", "table", "column",
        "entire", "whole", "altogether", "hi", "hello", "hey", "thanks", "ok", "okay", "also", "just", "only", "some",
        "came", "come", "many", "much", "more", "compute", "calculate", "query", "report", "stored", "contain",
        "shop", "store", "system", "here", "then", "make", "made",
    ];
    FILLERS.contains(&norm)
}

/// Verbs that say how a row came to be; they are filler unless the catalog has them as a value or a name.
pub fn is_soft_filler(norm: &str) -> bool {
    #[rustfmt::skip]
    const VERBS: &[&str] = &[
        "placed", "created", "recorded", "received", "live", "lives", "living", "located", "based", "registered",
        "signed", "up", "joined", "written", "happened", "occurred", "belong", "belonging", "generated", "earned",
        "earn", "place", "cost", "costs", "costing", "priced", "worth", "called", "named", "used", "using", "use",
        "took", "sell",
    ];
    VERBS.contains(&norm)
}

/// A word that stands for all words that mean the same in a schema.
pub fn canonical(stem: &str) -> &str {
    match stem {
        "client" | "buyer" | "shopper" => "customer",
        "purchase" | "sale" => "order",
        "article" | "good" => "product",
        "vendor" | "manufacturer" => "supplier",
        "delivery" | "parcel" => "shipment",
        "qty" | "piece" | "unit" => "quantity",
        "star" | "score" => "rating",
        "mail" => "email",
        "telephone" => "phone",
        "nation" => "country",
        "town" => "city",
        "value" | "total" => "amount",
        "zip" | "postcode" => "postal",
        "title" => "name",
        "inventory" => "stock",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::Comparison::Above;
    use super::Operator as Op;
    use super::*;
    use crate::words::tokenize;

    #[test]
    fn the_longest_phrase_counts() {
        let read = |text: &str| operator(&tokenize(text), 0);
        assert_eq!(read("more than 5"), Some((2, Op::Compare(Above, false))));
        assert_eq!(read("most expensive product"), Some((2, Op::Priced(true))));
        assert_eq!(read("total number of orders"), Some((3, Op::Count)));
        assert_eq!(read("median price"), None);
    }
}
