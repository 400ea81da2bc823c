-- PUTs of long_transaction.sh: wrk .. -- spread|hot KEYS START. Spread keys are written in
-- turn, so that no row gets many versions; there is one hot key.
local state = { n = 0 }

function init(words)
    state.hot = words[1] == "hot"
    state.keys = tonumber(words[2])
    state.n = tonumber(words[3])
    state.body = '"' .. string.rep("x", 188) .. '"'
end

function request()
    state.n = (state.n + 1) % state.keys
    local key = state.hot and "hot" or string.format("spread/%07d", state.n)
    return wrk.format("PUT", "/kv/" .. key, { ["Content-Type"] = "application/json" }, state.body)
end
