module x

go 1.20
