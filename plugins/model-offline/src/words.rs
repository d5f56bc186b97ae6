//! Text into tokens: words with their stems, exact numbers, quoted strings, dates, symbols.

/// How a piece of a question is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Letters and digits.
    Word,
    /// An exact decimal number; `norm` holds it in SQL's notation.
    Number,
    /// The inside of a quoted string, as written.
    Quoted,
    /// `YYYY-MM` or `YYYY-MM-DD`.
    Date,
    /// A comparison sign, a comma, a currency or percent sign.
    Symbol,
}

/// A piece of a question: a word, a number, a quoted string, a date or a sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// As written.
    pub text: String,
    /// In lower case; for a number its plain digits.
    pub norm: String,
    /// Singular form of `norm`.
    pub stem: String,
    /// Decides what `norm` and `stem` hold.
    pub kind: TokenKind,
}

impl Token {
    fn new(kind: TokenKind, text: &str, norm: String) -> Self {
        let stem = if kind == TokenKind::Word {
            stem(&norm)
        } else {
            norm.clone()
        };
        Self {
            text: text.to_owned(),
            norm,
            stem,
            kind,
        }
    }
}

/// The number of words of a phrase that the tokens start with.
pub fn starts_with(tokens: &[Token], phrase: &str) -> Option<usize> {
    let words = phrase.split(' ').count();
    let given = tokens.iter().map(|t| t.norm.as_str()).take(words);
    given.eq(phrase.split(' ')).then_some(words)
}

/// Doubled marks, as TeX and some keyboards write quotes, are plain ones.
fn plain_quotes(text: &str) -> String {
    let plain = text.replace("\"\"", "\"");
    if plain.contains("``") {
        plain.replace("``", "\"").replace("''", "\"")
    } else {
        plain
    }
}

/// Splits a question into tokens. Sentence marks are dropped.
pub fn tokenize(text: &str) -> Vec<Token> {
    let chars: Vec<char> = plain_quotes(text).chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if let Some(end) = quoted_end(&chars, at) {
            let inner = chars[at + 1..end]
                .iter()
                .collect::<String>()
                .replace("''", "'");
            tokens.push(Token::new(TokenKind::Quoted, &inner, inner.to_lowercase()));
            at = end + 1;
        } else if c.is_alphanumeric() {
            let end = word_end(&chars, at);
            let word: String = chars[at..end].iter().collect();
            let first = tokens.len();
            push_word(&mut tokens, &word);
            let (before, after) = signs(&chars, at, end);
            add_signs(&mut tokens[first..], &before, &after);
            if let Some(token) = tokens
                .get_mut(first)
                .filter(|t| is_negative(&chars, at) && t.kind == TokenKind::Number)
            {
                token.text.insert(0, '-');
                token.norm.insert(0, '-');
                token.stem = token.norm.clone();
            }
            at = end + after.len();
        } else {
            let pair: String = chars[at..chars.len().min(at + 2)].iter().collect();
            if matches!(pair.as_str(), ">=" | "<=" | "<>" | "!=") {
                tokens.push(Token::new(TokenKind::Symbol, &pair, pair.clone()));
                at += 2;
                continue;
            }
            if matches!(c, '>' | '<' | '=' | ',' | '%' | '€' | '$' | '£' | '≥' | '≤') {
                tokens.push(Token::new(TokenKind::Symbol, &c.to_string(), c.to_string()));
            }
            at += 1;
        }
    }
    tokens
}

/// The signs that belong to a word, before and behind it: `.NET`, `C++`, `A-`. A sign between two words is none, nor are
/// the signs around an emphasized one. They are all of one byte.
fn signs(chars: &[char], at: usize, end: usize) -> (String, String) {
    let before = at.checked_sub(1).map(|b| chars[b]);
    let starts =
        at < 2 || chars[at - 2].is_whitespace() || matches!(chars[at - 2], '(' | '\'' | '"');
    let opens = before.filter(|c| matches!(c, '.' | '#') && starts && chars[at].is_alphabetic());
    let behind = chars[end..]
        .iter()
        .take_while(|c| matches!(c, '+' | '-' | '#' | '*'));
    let closes: String = behind.filter(|c| before != Some(**c)).collect();
    let next = chars.get(end + closes.len());
    let joins = next.is_some_and(|c| c.is_alphanumeric());
    let closes = if joins { String::new() } else { closes };
    (opens.into_iter().collect(), closes)
}

/// Makes the first and the last of some tokens words with their signs.
fn add_signs(tokens: &mut [Token], before: &str, after: &str) {
    if let (Some(first), false) = (tokens.first_mut(), before.is_empty()) {
        let [text, norm] = [&first.text, &first.norm].map(|t| format!("{before}{t}"));
        *first = Token::new(TokenKind::Word, &text, norm);
    }
    if let (Some(last), false) = (tokens.last_mut(), after.is_empty()) {
        let [text, norm] = [&last.text, &last.norm].map(|t| format!("{t}{after}"));
        *last = Token::new(TokenKind::Word, &text, norm);
    }
}

/// Whether a minus sign stands right before a number that starts at `at`, and nothing before the sign.
fn is_negative(chars: &[char], at: usize) -> bool {
    let alone = |i: usize| {
        i == 0 || chars[i - 1].is_whitespace() || matches!(chars[i - 1], '(' | '=' | '<' | '>')
    };
    at > 0 && chars[at - 1] == '-' && alone(at - 1)
}

/// Where the quote that opens at `at` closes. An apostrophe opens a quote only at the start of a word.
fn quoted_end(chars: &[char], at: usize) -> Option<usize> {
    let close = match chars[at] {
        '"' => '"',
        '\'' | '`' => chars[at],
        '“' | '„' => '”',
        '‘' => '’',
        '«' => '»',
        _ => return None,
    };
    let starts_word = at == 0 || !chars[at - 1].is_alphanumeric();
    if !starts_word {
        return None;
    }
    let ends = |i: usize| {
        let closes = chars[i] == close || (chars[at] == '„' && chars[i] == '“');
        closes && !chars.get(i + 1).is_some_and(|c| c.is_alphanumeric())
    };
    let mut i = at + 1;
    while i < chars.len() {
        // A quote written twice is one quote inside, as in SQL.
        if chars[i] == '\'' && chars.get(i + 1) == Some(&'\'') {
            i += 2;
        } else if ends(i) {
            return Some(i);
        } else {
            i += 1;
        }
    }
    None
}

/// A word may hold an inner apostrophe, underscore, hyphen, or (between digits) a point, comma or slash.
fn word_end(chars: &[char], start: usize) -> usize {
    let mut end = start + 1;
    while end < chars.len() {
        let c = chars[end];
        let next = chars.get(end + 1).copied().unwrap_or(' ');
        let digits = chars[end - 1].is_ascii_digit() && next.is_ascii_digit();
        let inner = match c {
            '.' | ',' | '/' | ':' => digits,
            '\'' | '’' | '_' | '-' | '@' | '&' => next.is_alphanumeric(),
            _ => false,
        };
        if !c.is_alphanumeric() && !inner {
            break;
        }
        end += 1;
    }
    end
}

fn push_word(tokens: &mut Vec<Token>, word: &str) {
    let lower = word.to_lowercase().replace('’', "'");
    if let Some(number) = number(&lower) {
        tokens.push(Token::new(TokenKind::Number, word, number));
    } else if let Some(date) = date_literal(&lower) {
        tokens.push(Token::new(TokenKind::Date, word, date));
    } else if let Some(base) = lower.strip_suffix("n't") {
        // "don't", "weren't": the negation must not get lost.
        tokens.push(Token::new(TokenKind::Word, base, base.to_owned()));
        tokens.push(Token::new(TokenKind::Word, word, "not".to_owned()));
    } else if let Some(base) = lower
        .strip_suffix("'s")
        .or_else(|| lower.strip_suffix("'re"))
    {
        let text: String = word.chars().take(base.chars().count()).collect();
        push_word(tokens, &text);
    } else if lower.contains(['-', '_', '/', '&']) && !lower.contains('@') {
        for part in word.split(['-', '_', '/', '&']) {
            push_word(tokens, part);
        }
    } else {
        tokens.push(Token::new(TokenKind::Word, word, lower));
    }
}

/// Reads `1,000`, `12.50`, `10k`, `2m` or a small number word as exact digits.
pub fn number(word: &str) -> Option<String> {
    const WORDS: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \
                         sixteen seventeen eighteen nineteen twenty";
    if let Some(n) = WORDS.split(' ').position(|w| w == word) {
        return Some(n.to_string());
    }
    let (digits, zeros) = match word.strip_suffix('k') {
        Some(rest) => (rest, "000"),
        None => (word, ""),
    };
    let grouped = digits.split_once('.').map_or(digits, |(whole, _)| whole);
    let groups: Vec<&str> = grouped.split(',').collect();
    if groups.len() > 1 && groups[1..].iter().any(|g| g.len() != 3) {
        return None;
    }
    let plain = digits.replace(',', "");
    let mut parts = plain.split('.');
    let all_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let whole = parts.next().filter(|s| all_digits(s))?;
    match (parts.next(), parts.next()) {
        (None, _) => Some(format!("{whole}{zeros}")),
        (Some(fraction), None) if zeros.is_empty() && all_digits(fraction) => {
            Some(format!("{whole}.{fraction}"))
        }
        _ => None,
    }
}

fn date_literal(word: &str) -> Option<String> {
    let plain = word.replace('/', "-");
    let lengths: Vec<usize> = plain.split('-').map(str::len).collect();
    let digits = plain
        .split('-')
        .all(|p| p.bytes().all(|b| b.is_ascii_digit()));
    (digits && (lengths == [4, 2] || lengths == [4, 2, 2])).then_some(plain)
}

/// The singular of an English noun in lower case, roughly; other words stay as they are.
pub fn stem(word: &str) -> String {
    match word {
        "people" => return "person".into(),
        "children" => return "child".into(),
        _ => {}
    }
    if let Some(base) = word.strip_suffix("men").filter(|b| b.len() > 1) {
        return format!("{base}man");
    }
    if word.len() <= 3 || !word.ends_with('s') {
        return word.to_owned();
    }
    if let Some(base) = word.strip_suffix("ies").filter(|b| b.len() > 1) {
        return format!("{base}y");
    }
    for ending in ["sses", "shes", "ches", "xes", "zes", "uses"] {
        if word.ends_with(ending) && word != "warehouses" && word != "houses" {
            return word[..word.len() - 2].to_owned();
        }
    }
    if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return word.to_owned();
    }
    word[..word.len() - 1].to_owned()
}

/// The words of an identifier in lower case: `OrderItems`, `order_items` and `order-items` are all `order items`.
pub fn split(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (i, c) in chars.iter().enumerate() {
        let previous = i.checked_sub(1).map_or(' ', |p| chars[p]);
        let next = chars.get(i + 1).copied().unwrap_or(' ');
        let camel = c.is_uppercase()
            && (previous.is_lowercase() || (previous.is_uppercase() && next.is_lowercase()));
        if !c.is_alphanumeric() || camel {
            words.push(String::new());
        }
        if let (true, Some(last)) = (c.is_alphanumeric(), words.last_mut()) {
            last.extend(c.to_lowercase());
        }
    }
    words.retain(|w| !w.is_empty());
    words
}

/// The stems of the tokens of a text.
pub fn stems(text: &str) -> Vec<String> {
    let tokens = tokenize(text).into_iter();
    tokens.map(|t| t.stem).collect()
}

/// The stems of the words of an identifier.
pub fn name_stems(name: &str) -> Vec<String> {
    split(name).iter().map(|w| stem(w)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn norms(text: &str) -> Vec<String> {
        tokenize(text).into_iter().map(|t| t.norm).collect()
    }

    #[test]
    fn men_are_several() {
        assert_eq!(["spokesmen", "women"].map(stem), ["spokesman", "woman"]);
    }

    #[test]
    fn splits_words_numbers_quotes_and_signs() {
        assert_eq!(
            norms("What's the price >= 1,000.50?"),
            ["what", "the", "price", ">=", "1000.50"]
        );
        assert_eq!(
            norms("orders of 'Anna O'Neil' since 2024-05-01"),
            ["orders", "of", "anna o'neil", "since", "2024-05-01"]
        );
        assert_eq!(norms("weren't paid"), ["were", "not", "paid"]);
        assert_eq!(norms("top five, 10k"), ["top", "5", ",", "10000"]);
        assert_eq!(norms("O- or AB+, C++"), ["o-", "or", "ab+", ",", "c++"]);
        assert_eq!(norms("in .NET, e-mail"), ["in", ".net", ",", "e", "mail"]);
        assert_eq!(norms("*A* - b+c, 5*"), ["a", "b", "c", ",", "5*"]);
    }

    #[test]
    fn stems_are_singular() {
        for (plural, singular) in [
            ("categories", "category"),
            ("addresses", "address"),
            ("statuses", "status"),
            ("boxes", "box"),
            ("orders", "order"),
            ("status", "status"),
            ("prices", "price"),
            ("warehouses", "warehouse"),
        ] {
            assert_eq!(stem(plural), singular);
        }
        assert_eq!(name_stems("OrderItems"), ["order", "item"]);
        assert_eq!(name_stems("sales.order_items"), ["sale", "order", "item"]);
    }
}
