//! Days and seconds as SQLite's text.

/// Days from 1970-01-01 to 2023-01-01, the first day of the shop's history.
pub(super) const FIRST_DAY: i64 = 19_358;
/// Days of history: the years 2023, 2024 and 2025.
pub(super) const DAYS: i64 = 1_096;
/// The morning after the last day; nothing in the database is younger.
pub(super) const TODAY: i64 = FIRST_DAY + DAYS;

/// `YYYY-MM-DD` of a day counted from 1970-01-01.
pub(super) fn date(day: i64) -> String {
    let (year, month, day) = civil(day);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `YYYY-MM-DD HH:MM:SS` of a day and a second within it.
pub(super) fn timestamp(day: i64, second: i64) -> String {
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{} {hour:02}:{minute:02}:{second:02}", date(day))
}

/// Month of a day, 1 to 12.
pub(super) fn month(day: i64) -> i64 {
    civil(day).1
}

/// Year, month and day of the Gregorian calendar: eras of 400 years that begin on 1 March.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::{DAYS, FIRST_DAY, date, timestamp};

    #[test]
    fn the_history_is_three_whole_years() {
        assert_eq!(date(FIRST_DAY), "2023-01-01");
        assert_eq!(date(FIRST_DAY + DAYS - 1), "2025-12-31");
        assert_eq!(date(FIRST_DAY + 365 + 59), "2024-02-29");
        assert_eq!(timestamp(0, 86_399), "1970-01-01 23:59:59");
        assert_eq!(date(-1), "1969-12-31");
    }
}
