-- Dissectors for the headers of Raddle's captures that Wireshark does not know, by EtherType:
--
--   0x22E7  congestion notification message (IEEE 802.1Qau)
--   0x22E9  congestion notification tag (IEEE 802.1Qau)
--   0x88B5  data frame of converged Ethernet
--   0x88B6  packets without an EtherType of their own: R2C2, PDQ, D3, RCP, HULA, credits of PFQ, topology discovery, and packets
--           behind a load balancer's shim
--   0x9900  Expeditus's tag
--
-- Use: wireshark -X lua_script:raddle.lua packets.pcapng, or copy the file into the folder of personal Lua plugins
-- (Help, About, Folders). The layouts are those of crates/wire.

local ethertypes = DissectorTable.get("ethertype")
local ip = Dissector.get("ip")
local data = Dissector.get("data")

-- Hands the rest on to whoever knows its EtherType.
local function by_ethertype(ethertype, rest, pinfo, root)
    if ethertypes:try(ethertype, rest, pinfo, root) == 0 then data:call(rest, pinfo, root) end
end

-- Adds big-endian fields one after another: pairs of a field and its length, from byte `at` on.
local function add(tree, buffer, at, fields)
    for _, field in ipairs(fields) do
        tree:add(field[1], buffer(at, field[2]))
        at = at + field[2]
    end
end

---------------------------------------------------------------------- congestion notification message

local cnm = Proto("cnm", "Congestion Notification Message")
cnm.fields.version = ProtoField.uint16("cnm.version", "Version", base.DEC, nil, 0xF000)
cnm.fields.feedback = ProtoField.uint16("cnm.qfb", "Quantized feedback", base.DEC, nil, 0x003F)
cnm.fields.cp = ProtoField.ether("cnm.cpid.port", "Congestion point: port")
cnm.fields.cp_priority = ProtoField.uint16("cnm.cpid.priority", "Congestion point: priority")
cnm.fields.offset = ProtoField.int16("cnm.qoffset", "Queue offset (64 octets)")
cnm.fields.delta = ProtoField.int16("cnm.qdelta", "Queue delta (64 octets)")
cnm.fields.priority = ProtoField.uint16("cnm.encap.priority", "Encapsulated priority", base.DEC, nil, 0xE000)
cnm.fields.dst = ProtoField.ether("cnm.encap.dst", "Encapsulated destination")
cnm.fields.len = ProtoField.uint16("cnm.encap.len", "Encapsulated MSDU length")

function cnm.dissector(buffer, pinfo, root)
    pinfo.cols.protocol = "CNM"
    local fields, tree = cnm.fields, root:add(cnm, buffer(0, 24))
    tree:add(fields.version, buffer(0, 2))
    tree:add(fields.feedback, buffer(0, 2))
    add(tree, buffer, 2, {
        { fields.cp, 6 }, { fields.cp_priority, 2 }, { fields.offset, 2 }, { fields.delta, 2 },
        { fields.priority, 2 }, { fields.dst, 6 }, { fields.len, 2 },
    })
    pinfo.cols.info = string.format("q=%d offset=%d delta=%d to %s", buffer(1, 1):bitfield(2, 6),
        buffer(10, 2):int(), buffer(12, 2):int(), tostring(buffer(16, 6):ether()))
end

local cn_tag = Proto("cntag", "Congestion Notification Tag")
cn_tag.fields.rp = ProtoField.uint16("cntag.rpid", "Reaction point")
cn_tag.fields.type = ProtoField.uint16("cntag.type", "Type", base.HEX)

function cn_tag.dissector(buffer, pinfo, root)
    local tree = root:add(cn_tag, buffer(0, 4))
    add(tree, buffer, 0, { { cn_tag.fields.rp, 2 }, { cn_tag.fields.type, 2 } })
    by_ethertype(buffer(2, 2):uint(), buffer(4):tvb(), pinfo, root)
end

---------------------------------------------------------------------- data frame of converged Ethernet

local cee = Proto("raddle_cee", "Converged Ethernet Data")
cee.fields.seq = ProtoField.uint64("raddle_cee.seq", "Sequence (bytes)")
cee.fields.birth = ProtoField.uint64("raddle_cee.birth", "Made at (ps)")
cee.fields.flow = ProtoField.uint32("raddle_cee.flow", "Flow")
cee.fields.size = ProtoField.uint64("raddle_cee.size", "Bytes of the flow")
cee.fields.plen = ProtoField.uint16("raddle_cee.len", "Bytes in this frame")
cee.fields.path = ProtoField.uint32("raddle_cee.path", "Path", base.HEX)

function cee.dissector(buffer, pinfo, root)
    pinfo.cols.protocol = "CEE"
    local fields, tree = cee.fields, root:add(cee, buffer(0, 34))
    add(tree, buffer, 0, {
        { fields.seq, 8 }, { fields.birth, 8 }, { fields.flow, 4 }, { fields.size, 8 }, { fields.plen, 2 },
        { fields.path, 4 },
    })
    pinfo.cols.info = string.format("flow %d, %d bytes from %s of %s", buffer(16, 4):uint(),
        buffer(28, 2):uint(), tostring(buffer(0, 8):uint64()), tostring(buffer(20, 8):uint64()))
end

---------------------------------------------------------------------- Expeditus

local exp = Proto("expeditus", "Expeditus Tag")
exp.fields.response = ProtoField.bool("expeditus.response", "Response", 8, nil, 0x80)
exp.fields.count = ProtoField.uint8("expeditus.count", "Loads", base.DEC, nil, 0x7F)
exp.fields.load = ProtoField.uint8("expeditus.load", "Load", base.DEC, nil, 0x70)
exp.fields.load_low = ProtoField.uint8("expeditus.load", "Load", base.DEC, nil, 0x07)

-- Adds a tag without its EtherType, and returns its length.
local function tag(buffer, root)
    local count = buffer(0, 1):bitfield(1, 7)
    local len = 1 + math.ceil(count / 2)
    local tree = root:add(exp, buffer(0, len))
    tree:add(exp.fields.response, buffer(0, 1))
    tree:add(exp.fields.count, buffer(0, 1))
    for load = 0, count - 1 do
        local field = load % 2 == 0 and exp.fields.load or exp.fields.load_low
        tree:add(field, buffer(1 + math.floor(load / 2), 1))
    end
    return len
end

function exp.dissector(buffer, pinfo, root)
    local len = tag(buffer, root)
    by_ethertype(buffer(len, 2):uint(), buffer(len + 2):tvb(), pinfo, root)
end

---------------------------------------------------------------------- what has no EtherType of its own

local own = Proto("raddle", "Raddle")
local names = {
    [0x10] = "R2C2 data", [0x21] = "R2C2 flow start", [0x22] = "R2C2 flow finish", [0x23] = "R2C2 flow demand",
    [0x24] = "R2C2 flow route", [0x25] = "R2C2 flow refresh", [0x26] = "R2C2 digest", [0x31] = "R2C2 announcement",
    [0x41] = "R2C2 drop notice", [0x42] = "R2C2 controller event", [0x43] = "R2C2 controller rates",
    [0x44] = "R2C2 request to resend", [0x47] = "R2C2 request for a snapshot", [0x48] = "R2C2 acknowledgement",
    [0x49] = "R2C2 snapshot", [0x5C] = "Shim", [0x83] = "PFQ credit", [0x84] = "Hello", [0x87] = "Link states",
    [0x8E] = "HULA probe",
}
own.fields.type = ProtoField.uint8("raddle.type", "Type", base.HEX, names)
own.fields.shim = ProtoField.uint8("raddle.shim", "Shim", base.DEC, { [1] = "path", [2] = "CONGA" })
own.fields.path = ProtoField.uint16("raddle.path", "Path")
own.fields.lbtag = ProtoField.uint16("raddle.conga.lbtag", "LBTag", base.DEC, nil, 0xF000)
own.fields.ce = ProtoField.uint16("raddle.conga.ce", "CE", base.DEC, nil, 0x0E00)
own.fields.has_feedback = ProtoField.bool("raddle.conga.feedback", "Feedback", 16, nil, 0x0100)
own.fields.fb_lbtag = ProtoField.uint16("raddle.conga.fb_lbtag", "FB_LBTag", base.DEC, nil, 0x00F0)
own.fields.fb_metric = ProtoField.uint16("raddle.conga.fb_metric", "FB_Metric", base.DEC, nil, 0x000E)
own.fields.tor = ProtoField.uint24("raddle.hula.tor", "Edge switch")
own.fields.utilisation = ProtoField.uint8("raddle.hula.utilisation", "Utilisation (255ths)")
own.fields.given = ProtoField.uint32("raddle.credit.given", "Credits given")
own.fields.taken = ProtoField.uint32("raddle.credit.taken", "Credits taken")
own.fields.credited = ProtoField.uint32("raddle.credit.flow", "Credit for flow", base.HEX)
own.fields.hears = ProtoField.bool("raddle.hello.hears", "Hears the receiver")
own.fields.link = ProtoField.uint32("raddle.link", "Directed link")
own.fields.digest = ProtoField.uint64("raddle.hello.digest", "Digest of link states", base.HEX)
own.fields.changes = ProtoField.uint32("raddle.link.sequence", "Changes (odd: the link is down)")
own.fields.route_len = ProtoField.uint8("raddle.r2c2.rlen", "Hops of the route")
own.fields.hop = ProtoField.uint8("raddle.r2c2.ridx", "Hops behind it")
own.fields.flags = ProtoField.uint8("raddle.r2c2.flags", "Flags", base.HEX)
own.fields.flow = ProtoField.uint32("raddle.r2c2.flow", "Flow", base.HEX)
own.fields.src = ProtoField.uint16("raddle.r2c2.src", "Source")
own.fields.dst = ProtoField.uint16("raddle.r2c2.dst", "Destination")
own.fields.seq = ProtoField.uint32("raddle.r2c2.seq", "Sequence")
own.fields.checksum = ProtoField.uint16("raddle.r2c2.checksum", "Checksum", base.HEX)
own.fields.plen = ProtoField.uint16("raddle.r2c2.plen", "Payload bytes")
own.fields.route = ProtoField.bytes("raddle.r2c2.route", "Route")
own.fields.tree = ProtoField.uint8("raddle.r2c2.tree", "Broadcast tree")
own.fields.weight = ProtoField.uint8("raddle.r2c2.weight", "Weight")
own.fields.priority = ProtoField.uint8("raddle.r2c2.priority", "Priority", base.DEC, nil, 0xF0)
own.fields.protocol = ProtoField.uint8("raddle.r2c2.protocol", "Routing protocol", base.DEC, nil, 0x0F)
own.fields.demand = ProtoField.uint32("raddle.r2c2.demand", "Demand (kbit/s)")
own.fields.lid = ProtoField.uint16("raddle.r2c2.lid", "Flow in its source")

-- Length of the header that R2C2's data and unicast control packets begin with.
local ROUTED = 36

local function routed(buffer, pinfo, tree, root)
    local fields = own.fields
    add(tree, buffer, 1, {
        { fields.route_len, 1 }, { fields.hop, 1 }, { fields.flags, 1 }, { fields.flow, 4 }, { fields.src, 2 },
        { fields.dst, 2 }, { fields.seq, 4 }, { fields.checksum, 2 }, { fields.plen, 2 }, { fields.route, 16 },
    })
    pinfo.cols.info:append(string.format(" %d > %d seq %d", buffer(8, 2):uint(), buffer(10, 2):uint(),
        buffer(12, 4):uint()))
    if buffer:len() > ROUTED then data:call(buffer(ROUTED):tvb(), pinfo, root) end
end

local function event(buffer, pinfo, tree)
    local fields = own.fields
    add(tree, buffer, 1, { { fields.tree, 1 }, { fields.src, 2 }, { fields.dst, 2 }, { fields.weight, 1 } })
    tree:add(fields.priority, buffer(7, 1))
    tree:add(fields.protocol, buffer(7, 1))
    add(tree, buffer, 8, { { fields.demand, 4 }, { fields.lid, 2 }, { fields.checksum, 2 } })
    pinfo.cols.info:append(string.format(" %d > %d", buffer(2, 2):uint(), buffer(4, 2):uint()))
end

local function hula(buffer, pinfo, tree)
    add(tree, buffer, 1, { { own.fields.tor, 3 }, { own.fields.utilisation, 1 } })
    pinfo.cols.info:append(string.format(" of %d: %d/255", buffer(1, 3):uint(), buffer(4, 1):uint()))
end

local function credit(buffer, pinfo, tree)
    add(tree, buffer, 4, { { own.fields.given, 4 }, { own.fields.taken, 4 } })
    for at = 12, 16, 4 do
        if buffer(at, 4):uint() ~= 0xFFFFFFFF then tree:add(own.fields.credited, buffer(at, 4)) end
    end
    pinfo.cols.info:append(string.format(" %d given, %d taken", buffer(4, 4):uint(), buffer(8, 4):uint()))
end

local function hello(buffer, pinfo, tree)
    tree:add(own.fields.hears, buffer(1, 1))
    add(tree, buffer, 4, { { own.fields.link, 4 }, { own.fields.digest, 8 } })
    pinfo.cols.info:append(string.format(" over link %d", buffer(4, 4):uint()))
end

local function link_states(buffer, pinfo, tree)
    local count = buffer(1, 1):uint()
    for i = 0, count - 1 do
        local state = tree:add(own, buffer(4 + 8 * i, 8), "Link state")
        add(state, buffer, 4 + 8 * i, { { own.fields.link, 4 }, { own.fields.changes, 4 } })
    end
    pinfo.cols.info:append(string.format(" of %d links", count))
end

---------------------------------------------------------------------- PDQ, D3, RCP

local rated = Proto("raddle_rated", "Rate-Controlled Packet")
local schemes = { [0xE] = "PDQ", [0xF] = "D3", [0x6] = "RCP" }
local kinds = { [0] = "SYN", [1] = "data", [2] = "probe", [3] = "TERM" }
rated.fields.scheme = ProtoField.uint8("raddle_rated.scheme", "Scheme", base.HEX, schemes, 0xF0)
rated.fields.asks = ProtoField.bool("raddle_rated.asks", "Asks for a rate", 8, nil, 0x08)
rated.fields.ack = ProtoField.bool("raddle_rated.ack", "Acknowledges", 8, nil, 0x04)
rated.fields.kind = ProtoField.uint8("raddle_rated.kind", "Kind", base.DEC, kinds, 0x03)
rated.fields.src = ProtoField.uint24("raddle_rated.src", "Source")
rated.fields.checksum = ProtoField.uint16("raddle_rated.checksum", "Checksum", base.HEX)
rated.fields.dst = ProtoField.uint24("raddle_rated.dst", "Destination")
rated.fields.flow = ProtoField.uint24("raddle_rated.flow", "Flow", base.DEC, nil, 0xFFFFF0)
rated.fields.subflow = ProtoField.uint24("raddle_rated.subflow", "Subflow", base.DEC, nil, 0x00000F)
rated.fields.seq = ProtoField.uint32("raddle_rated.seq", "Sequence (packets)")
rated.fields.plen = ProtoField.uint16("raddle_rated.plen", "Payload bytes")
rated.fields.hop = ProtoField.uint16("raddle_rated.hop", "Hop", base.DEC, nil, 0xF000)
rated.fields.path = ProtoField.uint16("raddle_rated.path", "Path", base.DEC, nil, 0x0FFF)
rated.fields.pdq_rate = ProtoField.uint32("raddle_rated.pdq.rate", "Rate (kbit/s)")
rated.fields.pdq_pauseby = ProtoField.uint32("raddle_rated.pdq.pauseby", "Paused by port")
rated.fields.pdq_deadline = ProtoField.uint32("raddle_rated.pdq.deadline", "Deadline (us)")
rated.fields.pdq_expected = ProtoField.uint32("raddle_rated.pdq.expected", "Expected transmission time (10 ns)")
rated.fields.pdq_rtt = ProtoField.uint64("raddle_rated.pdq.rtt", "Round-trip time (ns)")
rated.fields.pdq_interval = ProtoField.uint16("raddle_rated.pdq.interval", "Probing interval (16ths of a round-trip time)")
rated.fields.d3_desired = ProtoField.uint64("raddle_rated.d3.desired", "Desired rate (kbit/s)")
rated.fields.d3_before = ProtoField.uint64("raddle_rated.d3.before", "Desired rate before (kbit/s)")
rated.fields.d3_grant = ProtoField.uint64("raddle_rated.d3.grant", "Granted rate (kbit/s)")
rated.fields.rcp_rate = ProtoField.uint32("raddle_rated.rcp.rate", "Rate (kbit/s)")
rated.fields.rcp_rtt = ProtoField.uint64("raddle_rated.rcp.rtt", "Round-trip time (ns)")

-- Length of the headers, those of the scheme included.
local RATED = 40
-- All ones: no port pauses the flow, or it has no deadline.
local NONE = 0xFFFFFFFF

-- Adds a number of five bits of exponent and eleven of mantissa.
local function minifloat(tree, field, range)
    local exponent, mantissa = range:bitfield(0, 5), range:bitfield(5, 11)
    local number = exponent == 0 and mantissa or (2048 + mantissa) * 2 ^ (exponent - 1)
    tree:add(field, range, UInt64.new(number % 2 ^ 32, math.floor(number / 2 ^ 32)))
end

local function rated_packet(buffer, pinfo, root)
    local fields, tree = rated.fields, root:add(rated, buffer(0, RATED))
    for _, field in ipairs({ fields.scheme, fields.asks, fields.ack, fields.kind }) do
        tree:add(field, buffer(0, 1))
    end
    add(tree, buffer, 1, { { fields.src, 3 }, { fields.checksum, 2 }, { fields.dst, 3 } })
    tree:add(fields.flow, buffer(9, 3))
    tree:add(fields.subflow, buffer(9, 3))
    add(tree, buffer, 12, { { fields.seq, 4 }, { fields.plen, 2 } })
    tree:add(fields.hop, buffer(18, 2))
    tree:add(fields.path, buffer(18, 2))
    local scheme = schemes[buffer(0, 1):bitfield(0, 4)]
    if scheme == "PDQ" then
        tree:add(fields.pdq_rate, buffer(20, 4))
        if buffer(24, 4):uint() ~= NONE then tree:add(fields.pdq_pauseby, buffer(24, 4)) end
        if buffer(28, 4):uint() ~= NONE then tree:add(fields.pdq_deadline, buffer(28, 4)) end
        tree:add(fields.pdq_expected, buffer(32, 4))
        minifloat(tree, fields.pdq_rtt, buffer(36, 2))
        tree:add(fields.pdq_interval, buffer(38, 2))
    elseif scheme == "D3" then
        minifloat(tree, fields.d3_desired, buffer(20, 2))
        minifloat(tree, fields.d3_before, buffer(22, 2))
        for at = 24, 38, 2 do
            minifloat(tree, fields.d3_grant, buffer(at, 2))
        end
    else
        tree:add(fields.rcp_rate, buffer(20, 4))
        minifloat(tree, fields.rcp_rtt, buffer(24, 2))
    end
    pinfo.cols.protocol = scheme
    pinfo.cols.info = string.format("%s%s %d > %d flow %d seq %d", kinds[buffer(0, 1):bitfield(6, 2)],
        buffer(0, 1):bitfield(5, 1) == 1 and " ack" or "", buffer(1, 3):uint(), buffer(6, 3):uint(),
        buffer(9, 3):bitfield(0, 20), buffer(12, 4):uint())
    if buffer:len() > RATED then data:call(buffer(RATED):tvb(), pinfo, root) end
end

---------------------------------------------------------------------- a packet by its first byte

local packet

local function shim(buffer, pinfo, tree, root)
    local fields = own.fields
    tree:add(fields.shim, buffer(1, 1))
    if buffer(1, 1):uint() == 1 then
        tree:add(fields.path, buffer(2, 2))
    else
        for _, field in ipairs({ fields.lbtag, fields.ce, fields.has_feedback, fields.fb_lbtag, fields.fb_metric }) do
            tree:add(field, buffer(2, 2))
        end
    end
    packet(buffer(4):tvb(), pinfo, root)
end

packet = function(buffer, pinfo, root)
    local kind = buffer(0, 1):uint()
    if kind == 0x45 then return ip:call(buffer, pinfo, root) end
    if kind == 0x99 then
        local len = tag(buffer(2):tvb(), root)
        return packet(buffer(2 + len):tvb(), pinfo, root)
    end
    if schemes[math.floor(kind / 16)] then return rated_packet(buffer, pinfo, root) end
    local tree = root:add(own, buffer(), names[kind] or "Unknown packet")
    tree:add(own.fields.type, buffer(0, 1))
    pinfo.cols.protocol = "Raddle"
    pinfo.cols.info = names[kind] or string.format("unknown packet %#04x", kind)
    if kind == 0x5C then
        shim(buffer, pinfo, tree, root)
    elseif kind == 0x8E then
        hula(buffer, pinfo, tree)
    elseif kind == 0x83 then
        credit(buffer, pinfo, tree)
    elseif kind == 0x84 then
        hello(buffer, pinfo, tree)
    elseif kind == 0x87 then
        link_states(buffer, pinfo, tree)
    elseif kind >= 0x21 and kind <= 0x25 then
        event(buffer, pinfo, tree)
    elseif kind == 0x10 or (kind >= 0x41 and kind <= 0x49) then
        routed(buffer, pinfo, tree, root)
    end
end

function own.dissector(buffer, pinfo, root)
    packet(buffer, pinfo, root)
end

ethertypes:add(0x22E7, cnm)
ethertypes:add(0x22E9, cn_tag)
ethertypes:add(0x88B5, cee)
ethertypes:add(0x88B6, own)
ethertypes:add(0x9900, exp)
