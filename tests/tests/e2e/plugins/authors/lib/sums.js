// The sum of some numbers.

export function total(numbers) {
  let sum = 0;
  for (let at = 0; at < numbers.length; at++) sum += numbers[at];
  return sum;
}
