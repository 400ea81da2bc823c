# What browsers get of a file of the console: its lines without those that are only a
# comment or empty, and without indentation. No literal and no comment spans lines (make shape).
/^ *($|\/\/|\/\*[^*]*\*\/$)/d
s/^ +//
