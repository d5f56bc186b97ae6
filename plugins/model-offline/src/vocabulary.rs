//! The words that have a meaning of their own, whatever the catalog holds.

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
pub enum Place {
    /// Anywhere.
    Inside,
    /// At the start.
    Start,
    /// At the end.
    End,
}

/// A word or phrase with a meaning of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// "how many"
    Count,
    /// "how much"
    HowMuch,
    /// "average"
    Aggregate(Aggregate),
    /// "different"
    Distinct,
    /// "by": a group, or the measure of a ranking.
    By,
    /// "per", "for each": a group.
    Each,
    /// "sorted by"
    SortedBy,
    /// "top" and "bottom".
    Top(bool),
    /// "first" and "last": rows, or the ends of a time.
    First(bool),
    /// "most", "highest" and their opposites.
    Most(bool),
    /// "latest" and "oldest".
    Recent(bool),
    /// "most expensive", "cheapest": a ranking by a price.
    Priced(bool),
    /// "most common"
    Common,
    /// "best selling"
    BestSelling,
    /// "best rated" and "worst rated".
    Rated(bool),
    /// "more than"; true where a price is meant ("cheaper than").
    Compare(Comparison, bool),
    /// "between", with numbers.
    Between,
    /// "show"
    List,
    /// "rows"
    Rows,
    /// "not"
    Not,
    /// "without"
    Without,
    /// "with"
    With,
    /// "and", a comma
    And,
    /// "or"
    Or,
    /// "when"
    When,
    /// "sold"
    Sold,
    /// "units sold"
    Units,
    /// "revenue"
    Revenue,
    /// "containing"
    Like(Place),
    /// "missing", "empty"
    Empty,
    /// A currency; it must agree with the catalog.
    Currency(&'static str),
    /// "new": rows of the period that the question names.
    New,
    /// "descending" and "ascending".
    Direction(bool),
}

use Aggregate::{Average, Max, Min, Sum};
use Comparison::{Above, AtLeast, AtMost, Below, Equal};
use Operator as Op;

/// Phrases in lower case, blanks between their words; the longest that fits counts.
const PHRASES: &[(&str, Op)] = &[
    ("how many", Op::Count),
    ("number of", Op::Count),
    ("count of", Op::Count),
    ("count", Op::Count),
    ("total number of", Op::Count),
    ("total count of", Op::Count),
    ("number", Op::Count),
    ("how much", Op::HowMuch),
    ("average", Op::Aggregate(Average)),
    ("avg", Op::Aggregate(Average)),
    ("mean", Op::Aggregate(Average)),
    ("sum", Op::Aggregate(Sum)),
    ("total", Op::Aggregate(Sum)),
    ("sum of", Op::Aggregate(Sum)),
    ("overall", Op::Aggregate(Sum)),
    ("minimum", Op::Aggregate(Min)),
    ("min", Op::Aggregate(Min)),
    ("maximum", Op::Aggregate(Max)),
    ("max", Op::Aggregate(Max)),
    ("distinct", Op::Distinct),
    ("different", Op::Distinct),
    ("unique", Op::Distinct),
    ("by", Op::By),
    ("per", Op::Each),
    ("each", Op::Each),
    ("every", Op::Each),
    ("for each", Op::Each),
    ("for every", Op::Each),
    ("in each", Op::Each),
    ("of each", Op::Each),
    ("by each", Op::Each),
    ("grouped by", Op::Each),
    ("group by", Op::Each),
    ("broken down by", Op::Each),
    ("split by", Op::Each),
    ("across", Op::Each),
    ("from each", Op::Each),
    ("sorted by", Op::SortedBy),
    ("ordered by", Op::SortedBy),
    ("order by", Op::SortedBy),
    ("ranked by", Op::SortedBy),
    ("sort by", Op::SortedBy),
    ("descending", Op::Direction(true)),
    ("desc", Op::Direction(true)),
    ("ascending", Op::Direction(false)),
    ("asc", Op::Direction(false)),
    ("top", Op::Top(true)),
    ("bottom", Op::Top(false)),
    ("first", Op::First(true)),
    ("last", Op::First(false)),
    ("most", Op::Most(true)),
    ("highest", Op::Most(true)),
    ("largest", Op::Most(true)),
    ("biggest", Op::Most(true)),
    ("greatest", Op::Most(true)),
    ("least", Op::Most(false)),
    ("lowest", Op::Most(false)),
    ("smallest", Op::Most(false)),
    ("fewest", Op::Most(false)),
    ("latest", Op::Recent(true)),
    ("newest", Op::Recent(true)),
    ("most recent", Op::Recent(true)),
    ("most recently", Op::Recent(true)),
    ("oldest", Op::Recent(false)),
    ("earliest", Op::Recent(false)),
    ("most expensive", Op::Priced(true)),
    ("priciest", Op::Priced(true)),
    ("expensive", Op::Priced(true)),
    ("cheapest", Op::Priced(false)),
    ("least expensive", Op::Priced(false)),
    ("most common", Op::Common),
    ("most frequent", Op::Common),
    ("most used", Op::Common),
    ("most popular", Op::Common),
    ("most frequently used", Op::Common),
    ("best selling", Op::BestSelling),
    ("bestselling", Op::BestSelling),
    ("top selling", Op::BestSelling),
    ("most sold", Op::BestSelling),
    ("most bought", Op::BestSelling),
    ("most purchased", Op::BestSelling),
    ("most ordered", Op::BestSelling),
    ("best rated", Op::Rated(true)),
    ("highest rated", Op::Rated(true)),
    ("top rated", Op::Rated(true)),
    ("worst rated", Op::Rated(false)),
    ("lowest rated", Op::Rated(false)),
    ("more than", Op::Compare(Above, false)),
    ("greater than", Op::Compare(Above, false)),
    ("higher than", Op::Compare(Above, false)),
    ("larger than", Op::Compare(Above, false)),
    ("bigger than", Op::Compare(Above, false)),
    ("over", Op::Compare(Above, false)),
    ("above", Op::Compare(Above, false)),
    ("exceeding", Op::Compare(Above, false)),
    (">", Op::Compare(Above, false)),
    ("more expensive than", Op::Compare(Above, true)),
    ("cheaper than", Op::Compare(Below, true)),
    ("less expensive than", Op::Compare(Below, true)),
    ("at least", Op::Compare(AtLeast, false)),
    ("no less than", Op::Compare(AtLeast, false)),
    ("not less than", Op::Compare(AtLeast, false)),
    (">=", Op::Compare(AtLeast, false)),
    ("≥", Op::Compare(AtLeast, false)),
    ("less than", Op::Compare(Below, false)),
    ("fewer than", Op::Compare(Below, false)),
    ("lower than", Op::Compare(Below, false)),
    ("smaller than", Op::Compare(Below, false)),
    ("under", Op::Compare(Below, false)),
    ("below", Op::Compare(Below, false)),
    ("<", Op::Compare(Below, false)),
    ("at most", Op::Compare(AtMost, false)),
    ("no more than", Op::Compare(AtMost, false)),
    ("not more than", Op::Compare(AtMost, false)),
    ("up to", Op::Compare(AtMost, false)),
    ("<=", Op::Compare(AtMost, false)),
    ("≤", Op::Compare(AtMost, false)),
    ("equal to", Op::Compare(Equal, false)),
    ("equals", Op::Compare(Equal, false)),
    ("exactly", Op::Compare(Equal, false)),
    ("=", Op::Compare(Equal, false)),
    ("between", Op::Between),
    ("show", Op::List),
    ("list", Op::List),
    ("display", Op::List),
    ("give me", Op::List),
    ("show me", Op::List),
    ("what are", Op::List),
    ("rows", Op::Rows),
    ("row", Op::Rows),
    ("records", Op::Rows),
    ("entries", Op::Rows),
    ("rows of", Op::Rows),
    ("rows from", Op::Rows),
    ("not", Op::Not),
    ("except", Op::Not),
    ("excluding", Op::Not),
    ("other than", Op::Not),
    ("!=", Op::Not),
    ("<>", Op::Not),
    ("except for", Op::Not),
    ("without", Op::Without),
    ("without any", Op::Without),
    ("with no", Op::Without),
    ("have no", Op::Without),
    ("has no", Op::Without),
    ("having no", Op::Without),
    ("do not have", Op::Without),
    ("did not", Op::Without),
    ("never", Op::Without),
    ("have never", Op::Without),
    ("with", Op::With),
    ("have a", Op::With),
    ("has a", Op::With),
    ("have an", Op::With),
    ("has an", Op::With),
    ("new", Op::New),
    ("and", Op::And),
    (",", Op::And),
    ("or", Op::Or),
    ("when", Op::When),
    ("sold", Op::Sold),
    ("did we sell", Op::Sold),
    ("spent", Op::Revenue),
    ("spend", Op::Revenue),
    ("bought", Op::Sold),
    ("purchased", Op::Sold),
    ("units sold", Op::Units),
    ("items sold", Op::Units),
    ("pieces sold", Op::Units),
    ("quantity sold", Op::Units),
    ("units", Op::Units),
    ("sold units", Op::Units),
    ("sales volume", Op::Units),
    ("revenue", Op::Revenue),
    ("revenues", Op::Revenue),
    ("turnover", Op::Revenue),
    ("sales", Op::Revenue),
    ("sales revenue", Op::Revenue),
    ("money", Op::Revenue),
    ("sales amount", Op::Revenue),
    ("containing", Op::Like(Place::Inside)),
    ("contains", Op::Like(Place::Inside)),
    ("starting with", Op::Like(Place::Start)),
    ("start with", Op::Like(Place::Start)),
    ("starts with", Op::Like(Place::Start)),
    ("beginning with", Op::Like(Place::Start)),
    ("ending with", Op::Like(Place::End)),
    ("ends with", Op::Like(Place::End)),
    ("ending in", Op::Like(Place::End)),
    ("missing", Op::Empty),
    ("empty", Op::Empty),
    ("null", Op::Empty),
    ("unknown", Op::Empty),
    ("euros", Op::Currency("EUR")),
    ("euro", Op::Currency("EUR")),
    ("€", Op::Currency("EUR")),
    ("eur", Op::Currency("EUR")),
    ("dollars", Op::Currency("USD")),
    ("dollar", Op::Currency("USD")),
    ("$", Op::Currency("USD")),
    ("usd", Op::Currency("USD")),
    ("pounds", Op::Currency("GBP")),
    ("£", Op::Currency("GBP")),
    ("gbp", Op::Currency("GBP")),
];

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
        .filter_map(|(phrase, op)| Some((fits(phrase)?, *op)))
        .max_by_key(|(used, _)| *used)
}

/// Words that carry no meaning of their own in a question about data.
pub fn is_filler(norm: &str) -> bool {
    const FILLERS: &[&str] = &[
        "a",
        "an",
        "the",
        "of",
        "in",
        "for",
        "from",
        "to",
        "at",
        "on",
        "into",
        "among",
        "within",
        "out",
        "have",
        "has",
        "had",
        "having",
        "do",
        "does",
        "did",
        "done",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "there",
        "we",
        "our",
        "us",
        "me",
        "my",
        "i",
        "you",
        "your",
        "it",
        "its",
        "they",
        "their",
        "them",
        "please",
        "can",
        "could",
        "would",
        "will",
        "tell",
        "give",
        "get",
        "find",
        "see",
        "want",
        "need",
        "know",
        "let",
        "what",
        "which",
        "who",
        "whose",
        "whom",
        "where",
        "how",
        "that",
        "this",
        "these",
        "those",
        "all",
        "any",
        "as",
        "than",
        "so",
        "far",
        "currently",
        "now",
        "right",
        "exist",
        "exists",
        "about",
        "data",
        "database",
        "table",
        "column",
        "entire",
        "whole",
        "altogether",
        "hi",
        "hello",
        "hey",
        "thanks",
        "ok",
        "okay",
        "also",
        "just",
        "only",
        "some",
        "came",
        "come",
        "many",
        "much",
        "more",
        "compute",
        "calculate",
        "query",
        "report",
        "stored",
        "contain",
        "shop",
        "store",
        "system",
        "here",
        "then",
        "make",
        "made",
    ];
    FILLERS.contains(&norm)
}

/// Verbs that say how a row came to be; they are filler unless the catalog has them as a value or a name.
pub fn is_soft_filler(norm: &str) -> bool {
    const VERBS: &[&str] = &[
        "placed",
        "created",
        "recorded",
        "received",
        "live",
        "lives",
        "living",
        "located",
        "based",
        "registered",
        "signed",
        "up",
        "joined",
        "written",
        "happened",
        "occurred",
        "belong",
        "belonging",
        "generated",
        "earned",
        "earn",
        "place",
        "cost",
        "costs",
        "costing",
        "priced",
        "worth",
        "called",
        "named",
        "used",
        "using",
        "use",
        "took",
        "sell",
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
        "state" => "status",
        other => other,
    }
}

#[cfg(test)]
mod tests {
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
