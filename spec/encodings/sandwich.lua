-- The inner product of two sinusoidal position vectors of width 128, smaller in later heads (Chi et al. 2023).
--
-- The product depends only on the distance: it is the sum over m of cos(distance / 10000^(2 m / 128)). Head h of H
-- divides the product by 8 (h + 1) / H. Nothing is learned. m is 0 to 63, as in the authors' code and in Vaswani et al.
-- 2017; in the paper's equation it begins at 1.
return {
  score = function(x)
    local product = sum(64, function(m)
      return cos(x.distance * pow(10000, -m / 64))
    end)
    return x.score + product / (8 * (x.head + 1) / x.heads)
  end,
}
