//! The words that have a meaning of their own, whatever the catalog holds.

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

/// Whether a list of words, parted by blanks, holds one.
pub fn holds(words: &str, word: &str) -> bool {
    words.split(' ').any(|w| w == word)
}

/// Words that carry no meaning of their own in a question about data.
const FILLERS: &str = "a an the of in for from to at on into among within out have has had having do does did done is \
    are was were be been being there we our us me my i you your it its they their them please can could would will \
    tell give get find see want need know let what which who whose whom where how that this these those all any as \
    than so far currently now right exist exists about data database table column entire whole altogether hi hello \
    hey thanks ok okay also just only some came come many much more compute calculate query report stored contain \
    shop store system here then make made";

/// Whether a word carries no meaning of its own in a question about data.
pub fn is_filler(norm: &str) -> bool {
    holds(FILLERS, norm)
}

/// Names that mean the same in most schemas, in groups. A word may be in several: an `enterprise` is a company.
const SYNONYMS: &str = "customer client buyer shopper purchaser; rating star; email mail; phone telephone; \
    country nation; city town; name title; movie film picture; sex gender; salary pay wage salaries earnings; \
    student pupil; car vehicle automobile auto; teacher instructor professor lecturer; location place; \
    employee worker staff; enrollment enrolment; company firm enterprise corporation; airline airway carrier; \
    airport aerodrome airfield; trip ride journey; singer vocalist; song tune; shop store; product merchandise good; \
    booking reservation; guest visitor; doctor physician; medicine drug medication; \
    disease illness; author writer; magazine journal; match game contest; player participant; \
    tournament competition championship; stadium arena venue; boss manager supervisor; job occupation profession; \
    college university; grade mark; exam examination; term semester; dormitory dorm; faculty professor; \
    photo photograph picture image; lawyer attorney; vet veterinarian; dog puppy; region area territory; \
    district territory; ship vessel boat; bicycle bike; engine motor; manufacturer maker producer; length duration; \
    revenue income turnover; comment remark; concert gig; theater theatre; painting picture; crime offence offense; \
    supplier vendor; parcel package; kind type category; language tongue; mountain peak; award prize; \
    population inhabitant; paper publication article; document paper; age lifespan; owner proprietor; \
    competitor contestant participant; road street; house home; apartment flat; department division; \
    transaction transfer; account membership; area surface; document file; result outcome";

/// The words that mean the same as a stem, without itself.
pub fn synonyms(stem: &str) -> impl Iterator<Item = &'static str> {
    let groups = SYNONYMS.split("; ").map(|group| group.split(' '));
    let said = groups.filter(move |words| words.clone().any(|w| w == stem));
    said.flatten().filter(move |w| *w != stem)
}

/// What a word stands for where a figure is worked out.
pub fn concept(stem: &str) -> &str {
    match stem {
        "purchase" | "sale" => "order",
        "qty" | "piece" | "unit" => "quantity",
        "star" | "score" => "rating",
        "value" | "total" => "amount",
        other => other,
    }
}
