-- A learned vector per clipped distance, added to the key (Shaw et al. 2018, keys only).
return {
  relative = { kind = "shaw", clip = 16 },
}
