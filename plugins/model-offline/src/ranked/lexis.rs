//! The words with a meaning of their own, and those that carry none.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::query::Way;
pub use crate::vocabulary::holds;
use crate::vocabulary::{Aggregate, Comparison, MatchPosition};
use crate::words::Token;

/// A quality that a comparison or superlative measures without naming a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    /// "older", "youngest": an age, or a date of birth the other way round.
    Age,
    /// "taller"
    Height,
    /// "heavier"
    Weight,
    /// "longer"
    Length,
    /// "cheaper"
    Price,
    /// "faster"
    Speed,
    /// "latest": a date or year.
    Time,
    /// "largest order": the amount of money of a row.
    Amount,
    /// "best selling": pieces sold.
    Sold,
    /// "best rated": the average rating.
    Rated,
}

/// What a word or phrase does in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// "how many", "count the": a count of what follows. A question has at most one.
    HowMany,
    /// "number of": a count of what follows, also inside a sentence.
    NumberOf,
    /// "average"
    Agg(Aggregate),
    /// "different"
    Distinct,
    /// "for each", "per": what follows is grouped by.
    Each,
    /// "by" alone: an order after a sort, else a group or a means.
    By,
    /// "sorted by"
    OrderBy,
    /// "alphabetically"
    Alphabetical,
    /// "descending" is true.
    Direction(bool),
    /// "most", "highest" (true), "least", "lowest"; "oldest" names a quality.
    Most(bool, Option<Quality>),
    /// "most common" (true), "least common"
    Common(bool),
    /// "top": the largest, as many as the number that follows.
    Top,
    /// "more than"; "older than" names a quality.
    Compare(Comparison, Option<Quality>),
    /// "between": two numbers follow, both included.
    Between,
    /// "not", "except": turns a condition round.
    Not,
    /// "without", "never", "do not have"
    Without,
    /// "and"
    And,
    /// ","
    Comma,
    /// "or"
    Or,
    /// "both"
    Both,
    /// "whose", "that", "with": what follows is a condition.
    Relative,
    /// "of", "for"
    Of,
    /// "in", "from", "at"
    In,
    /// "is", "are", "equals"
    Is,
    /// "have", "has"
    Have,
    /// "named", "called"
    Named,
    /// "containing"
    Like(MatchPosition),
    /// End of a sentence.
    Break,
    /// "ratio", "percentage": a figure made of two.
    Pair(Way),
    /// Something that these rules cannot do, and must not pass over.
    Beyond,
}

impl Op {
    /// Whether it only holds the parts of a question together.
    pub fn connects(self) -> bool {
        matches!(
            self,
            Self::And
                | Self::Comma
                | Self::Of
                | Self::In
                | Self::Is
                | Self::Have
                | Self::Relative
                | Self::Break
                | Self::Named
                | Self::Both
        )
    }
}

use Aggregate::{Average, Max, Min, Sum};
use Comparison::{Above, AtLeast, AtMost, Below, Equal};
use Quality::{Age, Height, Length, Price, Rated, Sold, Speed, Time, Weight};

/// Phrases of the language, the words of each parted by blanks, the phrases by semicolons.
#[rustfmt::skip]
const PHRASES: &[(Op, &str)] = &[
    (Op::HowMany,
        "how many; count the number of; count number of; count the; count; total count of; count the total number of; \
         what is the count of; total number of; what is the number of"),
    (Op::NumberOf, "number of; numbers of; count of; amount of; how many of; total number of; number of times"),
    (Op::Agg(Average), "average; avg; mean; on average"),
    (Op::Agg(Sum), "total; sum; sum of; total amount of; combined; in total; overall; how much; summed"),
    (Op::Agg(Min), "minimum; min"),
    (Op::Agg(Max), "maximum; max"),
    (Op::Distinct, "distinct; different; unique; all different; all distinct"),
    (Op::Each,
        "for each; per; in each; of each; each; by each; for every; grouped by; group by; split by; broken down by; combinations of; combination of; every; from each; for all \
         different; for different; for each of the; at each; on each; to each; with each; corresponding to each; from \
         every; of every; in every; in different; of different"),
    (Op::By, "by; in terms of"),
    (Op::OrderBy,
        "sorted by; ordered by; sort by; order by; in the order of; in order of; sorted in; ordered in; in ascending \
         order of; ranked by; ordered; sorted; sort; order them by; sort them by; sort the list by; sort the results \
         by; order the results by; listed by; listed in; in order by; arranged by; rank by; sort the list in; sort \
         the results in; order the result by; sort the result by; sort results by; sort the rows by; sorted according \
         to; list them in"),
    (Op::Alphabetical,
        "alphabetical order; in alphabetical order; alphabetic order; in alphabetic order; lexicographic order; \
         lexicographical order; in lexicographic order; in lexicographical order; in alphabetical order by; in \
         alphabetical order of; in alphabetic order of; alphabetical; alphabetically; alphabetic; lexicographic; \
         lexicographical; lexicographically; alphabetical order of; alphabetic order of; lexicographic order of; \
         lexicographical order of; alphabetical order by"),
    (Op::Direction(true),
        "descending; desc; descending order of; descending order; decreasing order of; decreasing order; decreasing; \
         from high to low; from highest to lowest; from most to least; from the most to the least; from large to \
         small; from largest to smallest; from longest to shortest; descending order by; from oldest to youngest; in descending order of; in \
         descending order; in decreasing order; in decreasing order of; highest to lowest; descendingly; reverse; \
         most to least"),
    (Op::Direction(false),
        "ascending; asc; ascending order of; ascending order; increasing order of; increasing order; increasing; from \
         low to high; from lowest to highest; from smallest to largest; from shortest to longest; from least to most; from the least to the most; ascending order by; \
         from youngest to oldest; in ascending order; in increasing order; in increasing order of; lowest to highest; \
         ascendingly; least to most"),
    (Op::Most(true, None),
        "most; highest; largest; biggest; greatest; maximal; most number of; highest number of; largest number of; \
         greatest number of; maximum number of; largest amount of; greatest amount of; most amount of"),
    (Op::Most(false, None),
        "least; lowest; smallest; fewest; minimal; least number of; lowest number of; smallest number of; fewest \
         number of; minimum number of; smallest amount of; least amount of"),
    (Op::Most(true, Some(Age)), "oldest; eldest"),
    (Op::Most(false, Some(Age)), "youngest"),
    (Op::Most(true, Some(Height)), "tallest"),
    (Op::Most(true, Some(Weight)), "heaviest"),
    (Op::Most(false, Some(Weight)), "lightest"),
    (Op::Most(true, Some(Length)), "longest"),
    (Op::Most(false, Some(Length)), "shortest"),
    (Op::Most(true, Some(Price)), "most expensive; priciest; most costly; highest priced"),
    (Op::Most(false, Some(Price)), "cheapest; least expensive"),
    (Op::Most(true, Some(Speed)), "fastest"),
    (Op::Most(false, Some(Speed)), "slowest"),
    (Op::Most(true, Some(Time)), "latest; most recent; newest; most recently"),
    (Op::Most(false, Some(Time)), "earliest"),
    (Op::Most(true, Some(Sold)),
        "best selling; bestselling; top selling; most sold; most bought; most purchased; most ordered"),
    (Op::Most(true, Some(Rated)), "best rated; highest rated; top rated"),
    (Op::Most(false, Some(Rated)), "worst rated; lowest rated"),
    (Op::Common(true),
        "most common; most frequent; most frequently used; most popular; most used; most prominent; most commonly \
         used; most frequently; most often; most commonly"),
    (Op::Common(false), "least common; least frequent; least popular; least used"),
    (Op::Top, "top"),
    (Op::Compare(Above, None),
        "more than; greater than; higher than; larger than; bigger than; over; above; exceeding; exceeds; exceed; \
         larger; greater; after; >; later than"),
    (Op::Compare(AtLeast, None),
        "at least; no smaller; no smaller than; no less; no less than; not less than; a minimum of; no fewer than; or \
         more; or higher; or greater; or above; >=; ≥; greater than or equal to; more than or equal to; larger than or \
         equal to; no lower than; on or after; no earlier than; not earlier than"),
    (Op::Compare(Below, None),
        "less than; fewer than; lower than; smaller than; under; below; before; <; earlier than; prior to"),
    (Op::Compare(AtMost, None),
        "or less; or fewer; or lower; or below; at most; no more; no more than; not more than; up to; <=; ≤; a maximum \
         of; less than or equal to; smaller than or equal to; no greater than; no larger than; on or before; no later \
         than; not later than; until"),
    (Op::Compare(Equal, None), "equal to; exactly; equals; equal; ="),
    (Op::Compare(Above, Some(Age)), "older than; aged over; aged above"),
    (Op::Compare(AtLeast, Some(Age)), "or older"),
    (Op::Compare(AtMost, Some(Age)), "or younger"),
    (Op::Compare(Below, Some(Age)), "younger than; aged under; aged below"),
    (Op::Compare(Above, Some(Height)), "taller than"),
    (Op::Compare(Below, Some(Height)), "shorter than"),
    (Op::Compare(Above, Some(Weight)), "heavier than"),
    (Op::Compare(Below, Some(Weight)), "lighter than"),
    (Op::Compare(Above, Some(Length)), "longer than"),
    (Op::Compare(Above, Some(Price)), "more expensive than"),
    (Op::Compare(Below, Some(Price)), "cheaper than; less expensive than"),
    (Op::Between, "between; in between; ranging from; in the range of"),
    (Op::Not,
        "not; non; other than; except; excluding; !=; <>; except for; outside; not in; not from; not equal to; is not; are \
         not; was not; were not; different from; not be; outside of; but not; aside from"),
    (Op::Without,
        "without; no; without any; with no; have no; has no; having no; do not have; does not have; did not have; do \
         not have any; does not have any; did not have any; never; have never; has never; do not; does not; did not; \
         have not; has not; had not; do not own; are not in any; not have; not have any; had no; had never; lack; lacks; lacking; have not \
         been; has not been; did not take any; are not involved in any; are not used by any; not any; is not in any; \
         is not used by any; were never; was never; are not part of any; is not part of any; \
         do not belong to any; does not belong to any"),
    (Op::And, "and; as well as; and also; along with; together with; &; and their; and its; but; and give; \
         and show; and return; and list; and provide; and report"),
    (Op::Comma, ","),
    (Op::Or, "or"),
    (Op::Both, "both"),
    (Op::Relative,
        "whose; that; who; with; where; having; which have; that have; who have; that has; who has; which has; such \
         that; when; while"),
    (Op::Of,
        "of; for; for all; of all; among; among all; of the; for the; of all the; for all the; across; across all; \
         across all the; by all; over all; in charge of"),
    (Op::In, "in; from; at; on; to; into; within; during; through; via; under the; as"),
    (Op::Is, "is; are; was; were; be; been; being; has value; is equal to; are equal to; is of; is called; equal to"),
    (Op::Have, "have; has; had"),
    (Op::Named,
        "named; called; titled; is named; is called; are named; with the name; by the name of; whose name is"),
    (Op::Like(MatchPosition::Inside),
        "containing; contains; contain; contain letter; contains letter; include; includes; including; has the substring; contains the substring; \
         contains the letter; contain the letter; containing the letter; contains the word; contain the word; contain the phrase; contain the string; containing the string; contains the string; containing the phrase; \
         contains the phrase; with \
         the substring; containing the word; has substring; contains substring; including the word; include the \
         substring; have the substring; including the substring; contain the substring; containing substring; with \
         substring; includes the word; include the word; includes the substring"),
    (Op::Like(MatchPosition::Start),
        "starting with; starts with; start with; starts with letter; start with letter; begins with letter; beginning with; begins with; begin with; starting with the letter; \
         starts with the letter; start with the letter; starts with the letters; starts with the word; beginning with the letter; begins with the letter; starting \
         with letter; with prefix; with the prefix; has prefix; has the prefix; prefix; started with"),
    (Op::Like(MatchPosition::End),
        "ending with; ends with; ending in; end with; ending with the letter; ends with the letter; ended with"),
    (Op::Pair(Way::Ratio), "ratio; proportion; fraction; share of"),
    (Op::Pair(Way::Percent), "percentage; percent"),
    (Op::Pair(Way::Difference), "difference between"),
    (Op::Beyond,
        "median; difference; respectively; why; forecast; \
         predict; trend; compare; correlation; growth; increase; decrease; compared to; relative to; per capita; \
         delete; drop; update; insert; remove; standard deviation; mode; %; first; last; second; third; \
         next; previous; same; only; neither; nor; most of; half; twice; times; consecutive; at the same time; than; \
         more; less; fewer; how; duplicate; also; all of; combination; combinations; instead; if; new; best; worst; \
         good; bad; similar; else; except that; ever; once; ago; today; yesterday; tomorrow; recently; late; early; \
         often; rank; based on; how old; how long; how big; how far; how often"),
];

/// What each phrase does.
static OPS: LazyLock<HashMap<&str, Op>> = LazyLock::new(|| {
    let phrases = PHRASES
        .iter()
        .rev()
        .flat_map(|(op, all)| all.split("; ").map(move |p| (p, *op)));
    phrases.collect()
});

/// Words of the longest phrase.
const LONGEST: usize = 8;

/// The longest phrase that starts at `at`, with the number of its tokens.
pub fn op(tokens: &[Token], at: usize) -> Option<(usize, Op)> {
    let most = LONGEST.min(tokens.len() - at);
    (1..=most).rev().find_map(|used| {
        let words: Vec<&str> = tokens[at..at + used]
            .iter()
            .map(|t| t.norm.as_str())
            .collect();
        Some((used, *OPS.get(words.join(" ").as_str())?))
    })
}

/// Whether a word may stay without a role: it asks, points, or only says that a relation holds.
pub fn is_soft(norm: &str) -> bool {
    holds(SOFT, norm) || holds(RELATIONS, norm)
}

/// Whether a word that may stay without a role names a property before "of".
pub fn is_noun(norm: &str) -> bool {
    holds(
        "year years value values place name letter state word result kind type",
        norm,
    )
}

/// Whether a word only says that a relation holds: `located`, `enrolled`.
pub fn is_relation(norm: &str) -> bool {
    holds(RELATIONS, norm)
}

const SOFT: &str = "anything a an the what which who whom there we our us me my i you your it its they their them his her he she please can \
    could would will tell give get find see want need know let all any do does did done show list display return \
    report select retrieve state provide present output fetch compute calculate determine identify describe name \
    this these those some so database record records information info data details value values out exist exists \
    currently now here hi hello ok entire whole available possible corresponding associated respective belong \
    belongs belonging together using use used uses given come comes came then result results answer order year years \
    old own owns also someone anyone everyone everybody people person one ones type kind has just various individual specific certain \
    particular stored appear appears letter word substring exact indicate said say either place part \
    correspond corresponds table tables collection across every sorted about express catalogue dataset";

const RELATIONS: &str = "brought ordered taken posted located enrolled place placed created recorded received lasted lasting lasts live lives living lived based registered \
    signed joined written happened occurred made make makes produced produce produces published publish released \
    release owned owning held hold holds hosted host hosts played play plays playing participated participate \
    participates participating participants involved assigned affiliated works work working worked take takes taking \
    took attended attend attends attending taught teach teaches teaching studying study studies offered offer offers \
    provided provides bought buy purchased purchase sold sell sells served serve serves serving stay stayed staying stays \
    situated found founded established opened started belonged wrote write writes directed direct sing sang sung \
    acted act starred receive receives got earned earn earns contained consist consists consisting \
    grouped driven drive drives drove managed manage manages led lead leads supported support supports supplied \
    supply supplies used visited visit visits born come employed employs employ hired hire runs run ran operated \
    operate operates flown fly flies flying arrive arriving arrives depart departing departs shown built build \
    affected affect cover covers covered share shared paid pay spent cost costs costing priced reviewed rated given \
    gave gives done did exhibited performed perform performs treated treat treats prescribed submitted submit sent \
    send listed booked reserved rented appeared applied accepted conducted organized ordering elected represented \
    sponsored trained coached lie lies speak spoken speaks reside resides residing resided occurs happen associated \
    linked connected related attached serving presented presenting featured features featuring contributed \
    contributing contributes originating originates originated headquartered occupying handled handles handling \
    shows showed showing go goes going went gone raised selling spend spends leave leaves leaving land landing occur speaking kept \
    lands flow flows flowing gotten caused mentioned tagged majoring advised advises advise contain contains include included";

/// Whether two words are forms of one verb, or a verb and what it is about: "write" and `written`, "born" and `birth`.
pub fn is_same_verb(a: &str, b: &str) -> bool {
    const ENDS: [&str; 6] = ["ing", "ed", "en", "er", "or", "e"];
    fn root(word: &str) -> &str {
        let word = match word {
            "born" => "birth",
            "wrote" => "write",
            "registration" => "register",
            "admission" | "admitted" => "admit",
            other => other,
        };
        let mut cut = ENDS.iter().filter_map(|end| word.strip_suffix(end));
        let root = cut.find(|root| root.len() > 2).unwrap_or(word);
        // "written", "shipped"
        match root.as_bytes() {
            [.., a, b] if a == b && root.len() > 3 => &root[..root.len() - 1],
            _ => root,
        }
    }
    let (a, b) = (root(a), root(b));
    a.len().min(b.len()) > 2 && (a.starts_with(b) || b.starts_with(a))
}

/// Names of columns that hold a quality, best first.
pub fn columns_of(quality: Quality) -> &'static [&'static str] {
    match quality {
        Age => &["age"],
        Height => &["height"],
        Weight => &["weight"],
        Length => &["length", "duration", "height"],
        Price => &["price", "cost"],
        Speed => &["speed"],
        Time => &["date", "year", "time"],
        Quality::Amount | Sold | Rated => &[],
    }
}

/// Abbreviations of schemas, each with its full words.
const LONG_FORMS: &str = "surname last name; forename first name; birthday date of birth; fname first name; lname last name; mname middle name; num number; no number; nr number; nbr number; \
    dept department; emp employee; stu student; prof professor; crs course; qty quantity; amt amount; addr address; \
    dob date of birth; yr year; avg average; min minimum; max maximum; mgr manager; desc description; dt date; ts timestamp; tel telephone; \
    lang language; cat category; acc account; acct account; loc location; cust customer; prod product; \
    temp temperature; enr enrollment; hs hours; bldg building; org organization; info information; ref reference; \
    pop population; rec record; pct percentage; uni university; univ university; sem semester; mins minutes; \
    hr hours; hrs hours; lat latitude; long longitude; lng longitude; cod code; cd code; dr doctor; \
    tx transaction; txn transaction; ccy currency; px price; tot total; cnt count; freq frequency; \
    dos dosage; diag diagnosis; dx diagnosis; rx prescription; med medication; ins insurance; reg registration; \
    appr approval; cert certification; lic license; vol volume; pmt payment; ord order; src source; dest destination; \
    msg message; usr user; grp group; lvl level; mfr manufacturer; cmt comment; cnty county; cntry country; prov province; \
    conf conference; proj project; div division; hosp hospital; occ occupation; orig origin; rm room; sal salary; \
    svc service; veh vehicle; vend vendor; whse warehouse; wk week; wt weight; ht height; dur duration; seq sequence; \
    bal balance; perc percentage; edu education; mkt market; img image; prev previous; curr current; eff effective";

/// The full words for an abbreviation in a schema.
pub fn long_form(token: &str) -> Option<Vec<String>> {
    let mut forms = LONG_FORMS.split("; ").map(|f| f.split(' '));
    let mut words = forms.find(|f| f.clone().next() == Some(token))?;
    words.next();
    Some(words.map(str::to_owned).collect())
}
