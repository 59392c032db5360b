// The module's path has no dot, as many private ones.
module zoo

go 1.21

require example.com/lib v1.2.3

replace example.com/lib => ./lib
