# Makes what browsers get from a file of the console: removes indentation, empty lines and lines
# that are only a comment. No literal and no comment spans lines (make shape).
/^ *($|\/\/|\/\*[^*]*\*\/$)/d
s/^ +//
