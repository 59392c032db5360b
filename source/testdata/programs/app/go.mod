module example.com/app

go 1.24

require (
	example.com/Dep v1.0.0
	example.com/here v1.0.0
)

replace (
	example.com/Dep => ../dep
	example.com/here => ../here
)
