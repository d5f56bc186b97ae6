// Numbers and names of months in charts as the reader's locale writes them.

const MONTHS = Array.from({ length: 12 }, (_, month) => new Date(Date.UTC(2024, month, 1)));
// The first of September 2024 was a Sunday, with which Vega begins.
const DAYS = Array.from({ length: 7 }, (_, day) => new Date(Date.UTC(2024, 8, 1 + day)));

function names(dates: Date[], options: Intl.DateTimeFormatOptions): string[] {
  const format = new Intl.DateTimeFormat(undefined, { ...options, timeZone: "UTC" });
  return dates.map((date) => format.format(date));
}

/** For Vega's `View`. Dates are in the order that cannot be mistaken: the name of the month is in them. */
export function locale() {
  const parts = new Intl.NumberFormat(undefined, { useGrouping: true }).formatToParts(-1234567.8);
  const part = (type: string, otherwise: string) => parts.find((one) => one.type === type)?.value ?? otherwise;
  return {
    number: { decimal: part("decimal", "."), thousands: part("group", ","), grouping: [3], currency: ["", ""] as [string, string], minus: "−" },
    time: {
      dateTime: "%-d %b %Y %H:%M:%S",
      date: "%-d %b %Y",
      time: "%H:%M:%S",
      periods: ["AM", "PM"],
      days: names(DAYS, { weekday: "long" }),
      shortDays: names(DAYS, { weekday: "short" }),
      months: names(MONTHS, { month: "long" }),
      shortMonths: names(MONTHS, { month: "short" }),
    },
  };
}
