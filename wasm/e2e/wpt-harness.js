// As much of testharness.js and testdriver.js as the web platform tests of `ai/` ask for.
const tests = [];
const equal = (a, b) => Object.is(a, b);

globalThis.promise_test = (run, name) => void tests.push({ run, name });
globalThis.assert_true = (value, message = "") => assert(value === true, `${message}: ${value} is not true`);
globalThis.assert_false = (value, message = "") => assert(value === false, `${message}: ${value} is not false`);
globalThis.assert_equals = (a, b, message = "") => assert(equal(a, b), `${message}: ${a} is not ${b}`);
globalThis.assert_in_array = (value, array) => assert(array.includes(value), `${value} is none of ${array}`);
globalThis.assert_greater_than = (a, b) => assert(a > b, `${a} is not above ${b}`);
globalThis.assert_greater_than_equal = (a, b) => assert(a >= b, `${a} is below ${b}`);
globalThis.assert_less_than_equal = (a, b) => assert(a <= b, `${a} is above ${b}`);
globalThis.assert_unreached = (message) => assert(false, message);
globalThis.assert_implements_optional = (condition, message) => { if (!condition) throw Object.assign(new Error(message), { isOptional: true }) };
globalThis.promise_rejects_exactly = (_, error, promise) => rejected(promise, (reason) => reason === error);
globalThis.promise_rejects_dom = (_, name, promise) => rejected(promise, (reason) => reason instanceof DOMException && reason.name === name);
globalThis.test_driver = { bless: () => globalThis.click() };

function assert(condition, message) {
  if (!condition) throw new Error(message);
}

async function rejected(promise, isWanted) {
  const reason = await promise.then((value) => assert(false, `fulfilled with ${value}`), (error) => error);
  assert(isWanted(reason), `rejected with ${reason}`);
}

/** Runs all tests: their names, with what went wrong or nothing. */
globalThis.results = async () => {
  const all = [];
  for (const { run, name } of tests) {
    const result = await Promise.race([
      run({}).then(() => "passed", (error) => (error.isOptional ? `does not apply: ${error.message}` : String(error))),
      new Promise((resolve) => setTimeout(resolve, 10_000, "timed out")),
    ]);
    all.push({ name, result });
  }
  return all;
};
