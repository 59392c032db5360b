// Package plan is what is to be changed in a program so that the recorder sees its
// calls: which bytes of which function give way to a jump, and what was there.
//
// A [Plan] names functions by their index in [executable.File.Funcs] and code by its
// link-time address, so that it holds for every run of one program. It is kept in a file:
// [Plan.Encode] writes it in a compact form with a checksum, [Decode] reads that, and
// takes memory in proportion to the file whatever its numbers say.
//
// A file may be damaged or belong to another program. So a plan that was read has to pass
// two tests before a byte is changed: [Plan.Fits] compares its places with the functions of
// the program's file, and [Plan.Displaced] lists the code that has to be in the process.
package plan
