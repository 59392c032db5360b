// Package eval is about experiments like those of Kamiya's paper ("A RAG method
// for source code inquiry tailored to long-context LLMs", 2024, section 4):
// inquiries about recorded runs of a program, put into prompts of several
// variants, asked of several models several times, and the answers graded.
//
// # The file
//
// An [Experiment] is read from a YAML file by [Load]. It names a program, its
// runs, and for each inquiry the question, the true answer, and a rubric: the
// criteria that an answer is graded by, a point or so each.
//
//	name: tablecat
//	program: ../tablecat            # a package's directory, or PATH@VERSION to install
//	files:                          # of each run's working directory
//	  data.csv: {from: ../tablecat/data.csv}
//	  note.txt: "some text\n"
//	baseline: [--version]           # what each run's tree is pruned by
//	runs:
//	  csv: {args: [--csv, data.csv]}
//	  md:  {args: [--md, "-"], stdin: "# title\n", exit: 0}
//	variants: [full, A, C, CA, T, ordered, ordered@16k]
//	models: [gpt-4o]                # names only: the endpoint is the asker's affair
//	repetitions: 3
//	inquiries:
//	  - id: look
//	    kind: where                 # where, bigger, compare or fix
//	    runs: [csv]                 # two for a comparison
//	    question: which function decides the look of the table?
//	    answer: the true answer, for those who grade
//	    decides: [csvview.newTable] # optional: the functions that a prompt must have
//	    criteria:
//	      - id: function
//	        text: the function that decides the look is named
//	        functions: [csvview.newTable]
//	      - id: look
//	        text: color and padding are explained besides lines
//	        terms: [color | colour, padding]
//
// What the file says is data but for one thing: the program that it names is built
// and run. It cannot say where prompts are sent.
//
// # Criteria
//
// A criterion may say what an answer that meets it must name; it is graded
// automatically then. Of functions and files one has to be named: alone it is worth
// the criterion's points, among several half of them, as in the paper ("if multiple
// instances are mentioned and the correct one is included, 0.5 points"). Each term
// counts its share. With "all: true" so
// do functions and files. A "|" separates names of which one is enough.
//
// [Auto] says what exactly "named" and "among several" are.
package eval
