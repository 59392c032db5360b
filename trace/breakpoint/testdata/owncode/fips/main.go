// Command fips uses cryptography that checks its own code when the program starts with
// GODEBUG=fips140=on.
package main

import (
	"crypto/fips140"
	"crypto/sha256"
	"fmt"
)

func main() {
	fmt.Println("FIPS 140:", fips140.Enabled())
	fmt.Printf("%x\n", sha256.Sum256([]byte("text")))
}
