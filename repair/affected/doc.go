// Package affected knows which tests ran a declaration, so that after a change of it those
// run first, and not the whole suite.
//
// Each test program is recorded once ([Recorder]): one run of all its tests, and not one for each. The
// trace's tree says which test each call belongs to:
//
//   - Package testing starts each test in a goroutine whose first function is the test. What is below
//     it, and below the goroutines that it started, is what the test ran.
//   - A subtest is a goroutine, too. Its first function is mostly a literal, which belongs to the
//     declaration around it: the tests that ran that declaration may have run the literal. So may
//     a goroutine whose creator is not known: it belongs to all tests that ran its go statement's function.
//   - What ran before the first test (initialisers, init, TestMain) belongs to all tests of the program, as do
//     calls whose origin is unknown.
//   - A call may be made only by the first test that runs its caller (sync.Once, a cache, a pool).
//     Later tests that run the caller are likely to use its result. It belongs to them, too.
//
// Not everything that a change can change has run: types, constants and variables have no calls, an empty function
// leaves no trace, a new function has not been there. Of these, the tests count that ran a function that
// mentions one, by name: more than necessary, and cheap.
//
// What remains: a cache with keys (the second test that looks up a key runs nothing), a test that starts a
// program ([Map.Select] takes such tests always), a file that a test reads. So the chosen tests are a quick first
// answer, and the whole suite has the last word.
package affected
