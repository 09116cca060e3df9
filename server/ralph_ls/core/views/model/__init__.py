"""Values and wording that every view starts from: document context, history, diagnostic, actions.

Only what at least two of the other rooms use; nothing here renders a whole view.
"""
