DIGITS = torch.tensor([${digits}])  # the tokens that are digits


def number_digits(tokens):
    """[B][T], for tokens [B][T]: a digit's place in its number, from 1; 0 for other tokens."""
    digit = torch.isin(tokens, DIGITS.to(tokens.device))
    count = digit.long().cumsum(dim=1)
    return count - count.masked_fill(digit, 0).cummax(dim=1).values


