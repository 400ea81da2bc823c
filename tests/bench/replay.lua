-- Replays requests that were written beforehand, so that wrk spends its time
-- on sending them. The file holds, for each: its size, a newline, its bytes.
local requests, count, current = {}, 0, -1

function init(arguments)
    local file = assert(io.open(arguments[1], "rb"))
    local data = file:read("*a")
    file:close()
    local position = 1
    while position <= #data do
        local _, last, size = data:find("^(%d+)\n", position)
        count = count + 1
        requests[count] = data:sub(last + 1, last + tonumber(size))
        position = last + tonumber(size) + 1
    end
end

-- wrk never sends the first request that it asks for: it only checks it. So that one
-- is the last of the file, and the one after it the first.
function request()
    current = current % count + 1
    return requests[current]
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests":%d,"us":%d,"bytes":%d,"p50":%d,"p99":%d,"max":%d,' ..
        '"status":%d,"socket":%d}\n',
        summary.requests, summary.duration, summary.bytes,
        latency:percentile(50), latency:percentile(99), latency.max,
        errors.status,
        errors.connect + errors.read + errors.write + errors.timeout))
end
