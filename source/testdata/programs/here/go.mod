module example.com/here

go 1.24
