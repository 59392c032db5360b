// Package target is the program that is to be recorded, before and while it runs. It has
// what every recorder needs, and knows no recorder:
//
//	t, err := target.Find([]string{"./app", "--csv", "data.csv"}, dir, nil, nil)
//	...
//	tr := t.NewTrace("myrecorder") // command, build, modules: all that is known before
//	for i := range t.Binary.Funcs {
//		if fn := &t.Binary.Funcs[i]; t.Records(fn.Package) {
//			// watch it
//		}
//	}
//
// [Find] looks a command up as a shell does and reads the executable; [Of] does so for a
// process that runs. Both choose the packages to be recorded: by default everything
// outside the standard library, else what the patterns say ([Target.Records]).
//
// A program under a recorder has to behave as it does alone, so this package also does
// the parts of that which do not depend on the recorder:
//
//   - [Target.Files]: whose standard input, output and error the program gets.
//   - [HandOver] and [Forward]: who owns the terminal, and who gets a signal. The program
//     is in our process group, so that Ctrl-C reaches it from the kernel. A signal that is
//     sent to us alone has to be passed on, and one that was sent to the group must not be
//     passed on a second time. A witness process tells the two apart (witness_linux.go).
//   - [Target.OwnCode]: what the program can do with its own machine code. One that reads,
//     changes or checks its code cannot be recorded by changing that code.
package target
