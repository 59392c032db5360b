module example.com/Dep

go 1.24

require example.com/here v1.0.0

replace example.com/here => ../here
