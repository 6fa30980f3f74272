-- More scores than an encoding may have.
local scores = {}
for i = 1, 5000 do
  scores[i] = function(x) return x.score + i end
end
return {
  task = { kind = "bucket_sort" },
  encoding = { score = scores },
}
